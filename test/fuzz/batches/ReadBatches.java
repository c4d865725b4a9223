import java.io.DataInputStream;
import java.io.EOFException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;

/**
 * Reads record batches from the standard input, each behind its length, as the consumer of the Java client does, and prints a line of
 * JSON for each: its records, or why there are none.
 */
public class ReadBatches {
    public static void main(String[] args) throws Exception {
        DataInputStream input = new DataInputStream(System.in);
        PrintStream output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (;;) {
            int length;
            try {
                length = input.readInt();
            } catch (EOFException end) {
                break;
            }
            byte[] bytes = new byte[length];
            input.readFully(bytes);
            output.println(read(bytes));
        }
        output.flush();
    }

    static String read(byte[] bytes) {
        try {
            List<String> records = new ArrayList<>();
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(bytes)).batches()) {
                batch.ensureValid();
                try (CloseableIterator<Record> iterator = batch.streamingIterator(BufferSupplier.NO_CACHING)) {
                    while (iterator.hasNext()) records.add(json(iterator.next()));
                }
            }
            return "{\"records\":[" + String.join(",", records) + "]}";
        } catch (Throwable error) {
            return "{\"error\":" + text(error.getClass().getSimpleName() + ": " + error.getMessage()) + "}";
        }
    }

    static String json(Record record) {
        List<String> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            byte[] value = header.value();
            headers.add("[" + text(header.key()) + "," + bytes(value == null ? null : ByteBuffer.wrap(value)) + "]");
        }
        return "{\"offset\":\"" + record.offset() + "\",\"timestamp\":\"" + record.timestamp() + "\",\"key\":" + bytes(record.key())
            + ",\"value\":" + bytes(record.value()) + ",\"headers\":[" + String.join(",", headers) + "]}";
    }

    static String bytes(ByteBuffer buffer) {
        if (buffer == null) return "null";
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return "\"" + Base64.getEncoder().encodeToString(copy) + "\"";
    }

    /** Through Base64, so that nothing has to be escaped. */
    static String text(String text) {
        return "\"" + Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8)) + "\"";
    }
}
