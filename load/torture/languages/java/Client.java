import io.socket.client.Ack;
import io.socket.client.IO;
import io.socket.client.Socket;
import java.net.URI;
import java.util.Arrays;
import okhttp3.OkHttpClient;

/** Arguments: url, transport, number of clients. Prints a line for each thing that a client notices. */
public class Client {
  public static void main(String[] arguments) throws Exception {
    for (int index = 0; index < Integer.parseInt(arguments[2]); index++) start(index, arguments[0], arguments[1]);
    while (System.in.read() != -1) {}
    System.exit(0);
  }

  private static void start(int client, String url, String transport) {
    IO.Options options = new IO.Options();
    options.transports = new String[] {transport};
    options.forceNew = true;
    // The library's own one, which all clients share, allows five requests at a time to one host, polls included.
    OkHttpClient http = new OkHttpClient();
    options.callFactory = http;
    options.webSocketFactory = http;
    Socket socket = IO.socket(URI.create(url), options);
    socket.on(Socket.EVENT_CONNECT, values -> socket.emit("echo", new Object[] {1}, (Ack) reply -> say(client, "ready")));
    socket.on(Socket.EVENT_DISCONNECT, values -> say(client, "disconnect " + Arrays.toString(values)));
    socket.connect();
  }

  private static synchronized void say(int client, String text) {
    System.out.println(client + " " + text);
    System.out.flush();
  }
}
