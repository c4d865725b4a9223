// What the CloudEvents SDK for Go makes of an event, as JSON.
package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/IBM/sarama"
	"github.com/cloudevents/sdk-go/protocol/kafka_sarama/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
)

type sent struct {
	Call    string            `json:"call"`
	Headers map[string]string `json:"headers"`
	Key     string            `json:"key"`
	// Base64 in JSON; null where there is none.
	Value []byte `json:"value"`
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func order(sequence any) event.Event {
	order := event.New()
	order.SetID("e1")
	order.SetSource("/pos/s1")
	order.SetType("store-data.order.changed")
	order.SetSubject("o1")
	order.SetTime(time.Date(2026, 11, 20, 21, 15, 4, 120_000_000, time.UTC))
	order.SetExtension("storeid", "s1")
	order.SetExtension("sequence", sequence)
	return order
}

func changed(sequence any) event.Event {
	order := order(sequence)
	err := order.SetData(event.ApplicationJSON, map[string]string{
		"status": "pending", "order_type": "delivery", "total": "39.90", "created_at": "2026-11-20T21:15:04.120Z",
	})
	must(order, err)
	return order
}

func deleted() event.Event {
	order := order("17")
	order.SetType("store-data.order.deleted")
	return order
}

func send(call string, ctx context.Context, event event.Event) sent {
	message := sarama.ProducerMessage{Key: sarama.StringEncoder("s1")}
	if err := kafka_sarama.WriteProducerMessage(ctx, binding.ToMessage(&event), &message); err != nil {
		panic(err)
	}
	headers := map[string]string{}
	for _, header := range message.Headers {
		headers[string(header.Key)] = string(header.Value)
	}
	var value []byte
	if message.Value != nil {
		value = must(message.Value.Encode())
	}
	return sent{call, headers, string(must(message.Key.Encode())), value}
}

func main() {
	structured := binding.WithForceStructured(context.Background())
	binary := binding.WithForceBinary(context.Background())
	value := must(json.Marshal(changed("17")))
	err := json.NewEncoder(os.Stdout).Encode([]sent{
		{"`json.Marshal(event)`", map[string]string{}, "s1", value},
		send("`WriteProducerMessage`, structured", structured, changed("17")),
		send("`WriteProducerMessage`, structured, integer `sequence`", structured, changed(17)),
		send("`WriteProducerMessage`, structured, a deletion", structured, deleted()),
		send("`WriteProducerMessage`, binary", binary, changed("17")),
		send("`WriteProducerMessage`, binary, integer `sequence`", binary, changed(17)),
		send("`WriteProducerMessage`, binary, a deletion", binary, deleted()),
	})
	must(value, err)
}
