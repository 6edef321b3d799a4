package peer;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** What clients share. Only the event loop touches it. */
final class Hub {
    static final int MAX_PAYLOAD = 1_000_000;

    private final SecureRandom random = new SecureRandom();
    private final String openPacket;
    private final Map<String, Set<Client>> rooms = new HashMap<>();
    private List<ByteBuf> quotes = List.of();
    private int second;

    /**
     * Clients are dealt out in turn to these, which are pinged one after the other, so that the pings of many clients are
     * spread over the interval and take one timer.
     */
    private final List<Set<Client>> pinged = new ArrayList<>();

    private final ByteBuf ping = Frames.of("2");
    private int dealt;
    private int turn;

    Hub(int pingInterval, int pingTimeout, EventLoop loop) {
        openPacket = ",\"upgrades\":[],\"pingInterval\":%d,\"pingTimeout\":%d,\"maxPayload\":%d}"
                .formatted(pingInterval, pingTimeout, MAX_PAYLOAD);
        for (int i = 0; i < 50; i++) pinged.add(new LinkedHashSet<>());
        long tick = TimeUnit.MILLISECONDS.toMicros(pingInterval) / pinged.size();
        loop.scheduleWithFixedDelay(this::ping, tick, tick, TimeUnit.MICROSECONDS);
        loop.scheduleAtFixedRate(this::renewQuotes, 0, 1, TimeUnit.SECONDS);
    }

    String openPacket() {
        return "0{" + sid() + openPacket;
    }

    String connectPacket() {
        return "40{" + sid() + "}";
    }

    private String sid() {
        byte[] id = new byte[15];
        random.nextBytes(id);
        return "\"sid\":\"" + Base64.getUrlEncoder().encodeToString(id) + "\"";
    }

    Set<Client> room(String name) {
        return rooms.computeIfAbsent(name, (ignored) -> new LinkedHashSet<>());
    }

    /** Writes `frame` to all of them, and lets go of it. */
    static void publish(Set<Client> members, ByteBuf frame) {
        for (Client member : members) member.writeAndFlush(frame.retainedDuplicate());
        frame.release();
    }

    List<ByteBuf> quotes() {
        return quotes;
    }

    /** Workload 3's ten messages of a second, as marketdata.js beside this folder makes them. */
    private void renewQuotes() {
        List<ByteBuf> old = quotes;
        quotes = IntStream.range(0, 10).mapToObj(this::quote).toList();
        old.forEach(ByteBuf::release);
        second++;
    }

    private ByteBuf quote(int number) {
        String start = number + " " + second + " ";
        String text = (start + ("quote " + start).repeat(10_000 / start.length())).substring(0, 10_000);
        return Frames.of("42[\"data\",\"" + text + "\"]");
    }

    Set<Client> deal() {
        return pinged.get(dealt++ % pinged.size());
    }

    private void ping() {
        // A copy, as those that are closed leave.
        for (Client client : List.copyOf(pinged.get(turn++ % pinged.size()))) client.ping(ping.retainedDuplicate());
    }
}
