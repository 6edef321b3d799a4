package peer;

import com.fasterxml.jackson.databind.json.JsonMapper;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import io.netty.handler.flush.FlushConsolidationHandler;
import java.net.InetSocketAddress;

/**
 * Netty on its native epoll transport. Tuned: one event loop for everything, so that no state is shared between threads;
 * flushes consolidated, so that what a client gets in one turn of the loop is one gathering write; messages of many
 * receivers framed once, in direct memory; void promises; no compression; one timer for all pings.
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        var settings = new JsonMapper().readTree(args[0]);
        var loop = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
        var hub = new Hub(settings.get("pingInterval").intValue(), settings.get("pingTimeout").intValue(), loop.next());
        var webSocket = WebSocketServerProtocolConfig.newBuilder()
                .websocketPath("/socket.io/")
                .checkStartsWith(true)
                .allowExtensions(false)
                .maxFramePayloadLength(Hub.MAX_PAYLOAD)
                .build();
        var listening = new ServerBootstrap()
                .group(loop)
                .channel(EpollServerSocketChannel.class)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(
                                new FlushConsolidationHandler(256, true),
                                new HttpServerCodec(),
                                new HttpObjectAggregator(8192),
                                new WebSocketServerProtocolHandler(webSocket),
                                new Client(hub));
                    }
                })
                .bind(settings.get("host").textValue(), 0)
                .sync()
                .channel();
        Control.run(((InetSocketAddress) listening.localAddress()).getPort());
    }
}
