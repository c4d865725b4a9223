import com.fasterxml.jackson.databind.ObjectMapper;
import io.cloudevents.CloudEvent;
import io.cloudevents.core.builder.CloudEventBuilder;
import io.cloudevents.core.data.PojoCloudEventData;
import io.cloudevents.core.message.Encoding;
import io.cloudevents.jackson.JsonFormat;
import io.cloudevents.kafka.CloudEventSerializer;
import java.net.URI;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** What the CloudEvents SDK for Java makes of an event, as JSON. */
public class Sent {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Map<String, Object> DATA = Map.of(
        "status", "pending", "order_type", "delivery", "total", "39.90", "created_at", "2026-11-20T21:15:04.120Z");

    static CloudEventBuilder order(String action) {
        return CloudEventBuilder.v1()
            .withId("e1")
            .withSource(URI.create("/pos/s1"))
            .withType("store-data.order." + action)
            .withSubject("o1")
            .withTime(OffsetDateTime.parse("2026-11-20T21:15:04.120Z"))
            .withExtension("storeid", "s1")
            .withExtension("sequence", "17");
    }

    static final List<Map<String, Object>> ALL = new ArrayList<>();

    static void send(String call, Encoding encoding, JsonFormat format, CloudEvent event) {
        var serializer = new CloudEventSerializer();
        Map<String, Object> settings = new HashMap<>();
        settings.put(CloudEventSerializer.ENCODING_CONFIG, encoding);
        if (encoding == Encoding.STRUCTURED) settings.put(CloudEventSerializer.EVENT_FORMAT_CONFIG, format);
        serializer.configure(settings, false);
        var headers = new RecordHeaders();
        byte[] value = serializer.serialize("store-changes.production", headers, event);
        Map<String, String> texts = new LinkedHashMap<>();
        headers.forEach(header -> texts.put(header.key(), new String(header.value())));
        Map<String, Object> sent = new HashMap<>();
        sent.put("call", call);
        sent.put("headers", texts);
        sent.put("key", "s1");
        sent.put("value", value);
        ALL.add(sent);
    }

    public static void main(String[] arguments) throws Exception {
        byte[] bytes = JSON.writeValueAsBytes(DATA);
        var changed = order("changed").withData("application/json", bytes).build();
        var ofObject = order("changed")
            .withData("application/json", PojoCloudEventData.wrap(DATA, JSON::writeValueAsBytes)).build();
        var numbered = CloudEventBuilder.from(changed).withExtension("sequence", 17).build();
        var deleted = order("deleted").build();
        var format = new JsonFormat();
        send("`CloudEventSerializer`, structured", Encoding.STRUCTURED, format, changed);
        send("`CloudEventSerializer`, structured, data of an object", Encoding.STRUCTURED, format, ofObject);
        send("`CloudEventSerializer`, structured, data as Base64", Encoding.STRUCTURED,
            format.withForceJsonDataToBase64(), changed);
        send("`CloudEventSerializer`, structured, integer `sequence`", Encoding.STRUCTURED, format, numbered);
        send("`CloudEventSerializer`, structured, a deletion", Encoding.STRUCTURED, format, deleted);
        send("`CloudEventSerializer`, binary", Encoding.BINARY, format, changed);
        send("`CloudEventSerializer`, binary, integer `sequence`", Encoding.BINARY, format, numbered);
        send("`CloudEventSerializer`, binary, a deletion", Encoding.BINARY, format, deleted);
        System.out.println(JSON.writeValueAsString(ALL));
    }
}
