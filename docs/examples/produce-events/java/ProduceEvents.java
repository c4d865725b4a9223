import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/** Publishes a store, an order that changes, and one that is deleted. */
public class ProduceEvents {
    static final String ENVIRONMENT = setting("ENVIRONMENT", "sandbox");
    static final String STORE_ID = setting("STORE_ID", "s1");

    /**
     * An event in JSON, for which a program of your own uses its JSON library.
     *
     * @param version from the database that the entity lives in: it grows with every change, and never goes back
     * @param data the whole state of the entity, or null once it is deleted
     */
    static String event(String entity, String id, long version, Instant time, String data) {
        String envelope = """
            {"specversion": "1.0", "id": "%s", "source": "/pos/%s", "type": "store-data.%s.%s", "subject": "%s",
             "storeid": "%s", "sequence": "%d", "time": "%s"%s}""";
        String state = data == null ? "" : ", \"datacontenttype\": \"application/json\", \"data\": " + data;
        String action = data == null ? "deleted" : "changed";
        return envelope.formatted(UUID.randomUUID(), STORE_ID, entity, action, id, STORE_ID, version, time, state);
    }

    static String order(String status, Instant created) {
        return """
            {"status": "%s", "order_type": "delivery", "total": "39.90", "created_at": "%s"}"""
            .formatted(status, created);
    }

    public static void main(String[] arguments) throws Exception {
        Instant now = Instant.now();
        Instant created = now.minusSeconds(60);
        String store = """
            {"name": "Pizzaria Bela", "timezone_offset": "-03:00", "created_at": "%s"}""".formatted(created);
        List<String> events = List.of(
            event("store", STORE_ID, 1, created, store),
            event("order", "o1", 1, created, order("pending", created)),
            event("order", "o2", 1, created, order("pending", created)),
            event("order", "o1", 2, now, order("ready", created)),
            event("order", "o2", 2, now, null));
        Map<String, Object> settings = Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, setting("KAFKA_BROKERS", "127.0.0.1:9092"),
            // Idempotent: what is sent again after a lost answer is there once, and in order.
            ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true,
            ProducerConfig.ACKS_CONFIG, "all");
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (String event : events) {
                // One store's events are one partition's, so that they stay in order.
                var message = new ProducerRecord<>("store-changes." + ENVIRONMENT, STORE_ID, event);
                message.headers().add("content-type", "application/cloudevents+json".getBytes());
                sent.add(producer.send(message));
            }
            for (Future<RecordMetadata> one : sent) one.get();
        }
        System.out.println(events.size() + " events are in Kafka");
    }

    static String setting(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }
}
