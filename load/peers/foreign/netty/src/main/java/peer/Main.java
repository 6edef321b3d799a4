package peer;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler.HandshakeComplete;
import io.netty.handler.flush.FlushConsolidationHandler;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Netty on its native epoll transport, with the events of connect, echo and marketdata. Tuned: one event loop for everything,
 * so that no state is shared between threads; flushes consolidated, so that what a client gets in one turn of the loop is one
 * gathering write; what many clients get framed once, in direct memory; void promises; no compression; one timer for all pings.
 */
public final class Main {
    private static final int MAX_PAYLOAD = 1_000_000;
    private static final int FINAL_TEXT = 0x81;
    private static final JsonMapper MAPPER = new JsonMapper();
    private static final JsonFactory JSON = new JsonFactory();

    private final SecureRandom random = new SecureRandom();
    private final String openPacket;
    /** Clients are dealt out in turn to these groups, which are pinged one after the other over the interval. */
    private final List<Set<Client>> pinged =
            IntStream.range(0, 50).<Set<Client>>mapToObj(group -> new LinkedHashSet<>()).toList();
    private final ByteBuf ping = frame("2");
    private List<ByteBuf> quotes = List.of();
    private int second;
    private int dealt;
    private int turn;

    private Main(int pingInterval, int pingTimeout) {
        openPacket = ",\"upgrades\":[],\"pingInterval\":%d,\"pingTimeout\":%d,\"maxPayload\":%d}"
                .formatted(pingInterval, pingTimeout, MAX_PAYLOAD);
    }

    public static void main(String[] args) throws Exception {
        var settings = MAPPER.readTree(args[0]);
        int pingInterval = settings.get("pingInterval").intValue();
        var peer = new Main(pingInterval, settings.get("pingTimeout").intValue());
        var group = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
        long tick = TimeUnit.MILLISECONDS.toMicros(pingInterval) / peer.pinged.size();
        group.next().scheduleWithFixedDelay(peer::pingNext, tick, tick, TimeUnit.MICROSECONDS);
        group.next().scheduleAtFixedRate(peer::renewQuotes, 0, 1, TimeUnit.SECONDS);
        var webSocket = WebSocketServerProtocolConfig.newBuilder()
                .websocketPath("/socket.io/")
                .checkStartsWith(true)
                .allowExtensions(false)
                .maxFramePayloadLength(MAX_PAYLOAD)
                .build();
        var listening = new ServerBootstrap()
                .group(group)
                .channel(EpollServerSocketChannel.class)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(
                                new FlushConsolidationHandler(256, true),
                                new HttpServerCodec(),
                                new HttpObjectAggregator(8192),
                                new WebSocketServerProtocolHandler(webSocket),
                                peer.new Client());
                    }
                })
                .bind(settings.get("host").textValue(), 0)
                .sync()
                .channel();
        control(((InetSocketAddress) listening.localAddress()).getPort());
    }

    /** Tells the harness that clients may come, answers its order "memory", one line of JSON each, and ends with it. */
    private static void control(int port) throws IOException {
        System.out.printf("{\"ready\":true,\"port\":%d}%n", port);
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.gc();
            long used = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
            System.out.printf("{\"id\":%d,\"result\":{\"heapUsed\":%d}}%n", MAPPER.readTree(line).get("id").intValue(), used);
        }
        System.exit(0);
    }

    private String sid() {
        byte[] id = new byte[15];
        random.nextBytes(id);
        return "\"sid\":\"" + Base64.getUrlEncoder().encodeToString(id) + "\"";
    }

    /** A text frame as it is on the wire (RFC 6455, section 5.2): Netty's encoder lets buffers pass as they are. */
    private static ByteBuf frame(String text) {
        ByteBuf frame = PooledByteBufAllocator.DEFAULT.directBuffer(4 + text.length()).writeByte(FINAL_TEXT);
        if (text.length() < 126) frame.writeByte(text.length());
        else frame.writeByte(126).writeShort(text.length());
        ByteBufUtil.writeAscii(frame, text);
        return frame;
    }

    /** Workload 3's ten messages of a second, as marketdata.js makes them. */
    private void renewQuotes() {
        List<ByteBuf> old = quotes;
        quotes = IntStream.range(0, 10).mapToObj(number -> {
            String start = number + " " + second + " ";
            String text = (start + ("quote " + start).repeat(10_000 / start.length())).substring(0, 10_000);
            return frame("42[\"data\",\"" + text + "\"]");
        }).toList();
        old.forEach(ByteBuf::release);
        second++;
    }

    /** A client that has not answered the last ping by now is gone. */
    private void pingNext() {
        // A copy, as those that are closed leave.
        for (Client client : new ArrayList<>(pinged.get(turn++ % pinged.size()))) {
            if (client.alive) client.context.writeAndFlush(ping.retainedDuplicate(), client.context.voidPromise());
            else client.context.close();
            client.alive = false;
        }
    }

    /** One client: the wire format of Engine.IO 4 and Socket.IO 5, namespace "/" alone. */
    private final class Client extends SimpleChannelInboundHandler<TextWebSocketFrame> {
        private final Set<Client> group = pinged.get(dealt++ % pinged.size());
        private ChannelHandlerContext context;
        /** Has sent something since the last ping. */
        private boolean alive = true;

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (!(event instanceof HandshakeComplete)) return;
            this.context = context;
            reply("0{" + sid() + openPacket);
            group.add(this);
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            group.remove(this);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, TextWebSocketFrame frame) throws IOException {
            alive = true;
            String packet = frame.text();
            if (packet.equals("3")) return;
            if (packet.equals("40")) {
                reply("40{" + sid() + "}");
                return;
            }
            if (!packet.startsWith("42[")) throw new IOException("not an event");
            try (JsonParser event = JSON.createParser(packet.substring(2))) {
                event.nextToken();
                switch (event.nextTextValue()) {
                    case "echo" -> reply("42[\"echo\"," + value(event, packet) + "]");
                    case "heartbeat" -> {
                        for (ByteBuf quote : quotes) context.write(quote.retainedDuplicate(), context.voidPromise());
                        context.flush();
                    }
                    default -> throw new IOException("unknown event");
                }
            }
        }

        /** The argument of an event as it is in the packet: what is only passed on need not be decoded. */
        private static String value(JsonParser event, String packet) throws IOException {
            event.nextToken();
            int from = 2 + (int) event.currentTokenLocation().getCharOffset();
            event.skipChildren();
            event.finishToken();
            return packet.substring(from, 2 + (int) event.currentLocation().getCharOffset());
        }

        private void reply(String packet) {
            var frame = new TextWebSocketFrame(ByteBufUtil.writeUtf8(context.alloc(), packet));
            context.writeAndFlush(frame, context.voidPromise());
        }
    }
}
