package peer;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler.HandshakeComplete;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** One client: the wire format of Engine.IO 4 and Socket.IO 5, namespace "/" alone. */
final class Client extends SimpleChannelInboundHandler<TextWebSocketFrame> {
    private static final JsonFactory JSON = new JsonFactory();

    private final Hub hub;
    private final List<Set<Client>> joined = new ArrayList<>(1);
    private ChannelHandlerContext context;
    /** Has sent something since the last ping. */
    private boolean alive = true;

    Client(Hub hub) {
        this.hub = hub;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        this.context = context;
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        if (!(event instanceof HandshakeComplete)) return;
        reply(hub.openPacket());
        join(hub.deal());
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        for (Set<Client> room : joined) room.remove(this);
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
            reply(hub.connectPacket());
            return;
        }
        // 42["event",…] or, with the number under which an acknowledgement is expected, 420["event",…]
        int start = packet.indexOf('[');
        if (!packet.startsWith("42") || start == -1) throw new IOException("not an event");
        try (JsonParser event = JSON.createParser(packet.substring(start))) {
            event.nextToken();
            String name = event.nextTextValue();
            event.nextToken();
            handle(name, event, packet, start);
        }
    }

    /**
     * @param value parser that stands at the event's argument
     * @param packet where the parser reads from, from `start` on
     */
    private void handle(String name, JsonParser value, String packet, int start) throws IOException {
        switch (name) {
            case "echo" -> reply(eventPacket("echo", raw(value, packet, start)));
            case "upper" -> reply(eventPacket("upper", quoted(value.getText().toUpperCase(Locale.ROOT))));
            case "join" -> {
                join(hub.room(value.getText()));
                reply("43" + packet.substring(2, start) + "[]");
            }
            case "publish" -> publish(value, packet, start);
            case "heartbeat" -> {
                for (ByteBuf quote : hub.quotes()) context.write(quote.retainedDuplicate(), context.voidPromise());
                context.flush();
            }
            default -> throw new IOException("unknown event");
        }
    }

    private void publish(JsonParser value, String packet, int start) throws IOException {
        String room = null;
        String text = null;
        for (String field = value.nextFieldName(); field != null; field = value.nextFieldName()) {
            value.nextToken();
            if (field.equals("room")) room = value.getText();
            else if (field.equals("text")) text = raw(value, packet, start);
            else value.skipChildren();
        }
        Hub.publish(hub.room(room), Frames.of(eventPacket("message", text)));
    }

    /** The value at which the parser stands as it is in the packet: what is only passed on need not be decoded. */
    private static String raw(JsonParser value, String packet, int start) throws IOException {
        int from = start + (int) value.currentTokenLocation().getCharOffset();
        value.skipChildren();
        value.finishToken();
        return packet.substring(from, start + (int) value.currentLocation().getCharOffset());
    }

    private static String quoted(String text) {
        return "\"" + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + "\"";
    }

    private static String eventPacket(String name, String value) {
        return "42[\"" + name + "\"," + value + "]";
    }

    private void join(Set<Client> room) {
        room.add(this);
        joined.add(room);
    }

    private void reply(String packet) {
        writeAndFlush(new TextWebSocketFrame(ByteBufUtil.writeUtf8(context.alloc(), packet)));
    }

    void writeAndFlush(Object message) {
        context.writeAndFlush(message, context.voidPromise());
    }

    /** A client that has not answered the last ping by now is gone. */
    void ping(ByteBuf frame) {
        if (alive) {
            writeAndFlush(frame);
        } else {
            frame.release();
            context.close();
        }
        alive = false;
    }
}
