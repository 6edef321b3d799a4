package peer;

import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** Tells the harness that clients may come, answers its orders, one line of JSON each, and ends with it. */
final class Control {
    private Control() {}

    static void run(int port) throws IOException {
        System.out.printf("{\"ready\":true,\"port\":%d}%n", port);
        var json = new JsonMapper();
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            var order = json.readTree(line);
            int id = order.get("id").intValue();
            if (order.get("order").textValue().equals("memory")) {
                System.out.printf("{\"id\":%d,\"result\":{\"heapUsed\":%d}}%n", id, heapUsed());
            } else {
                System.out.printf("{\"id\":%d,\"error\":\"unknown order\"}%n", id);
            }
        }
        System.exit(0);
    }

    private static long heapUsed() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }
}
