package peer;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.PooledByteBufAllocator;

/** Text frames as they are on the wire (RFC 6455, section 5.2): Netty's encoder lets buffers pass as they are. */
final class Frames {
    private static final int FINAL_TEXT = 0x81;

    private Frames() {}

    static ByteBuf of(String text) {
        int length = ByteBufUtil.utf8Bytes(text);
        ByteBuf frame = PooledByteBufAllocator.DEFAULT.directBuffer(10 + length).writeByte(FINAL_TEXT);
        if (length < 126) frame.writeByte(length);
        else if (length < 65_536) frame.writeByte(126).writeShort(length);
        else frame.writeByte(127).writeLong(length);
        ByteBufUtil.writeUtf8(frame, text);
        return frame;
    }
}
