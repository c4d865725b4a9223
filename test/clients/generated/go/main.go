// Walks through the API with the client that oapi-codegen makes, and prints facts as JSON.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"store-data/test/clients/generated/go/client"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func to[T any](value T) *T { return &value }

func main() {
	ctx := context.Background()
	api := must(client.NewClientWithResponses(os.Getenv("BASE_URL")))
	basic := base64.StdEncoding.EncodeToString([]byte(os.Getenv("CLIENT_ID") + ":" + os.Getenv("CLIENT_SECRET")))
	as := func(authorization string) client.RequestEditorFn {
		return func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", authorization)
			return nil
		}
	}
	form := client.IssueTokenFormdataRequestBody{GrantType: "client_credentials"}
	token := must(api.IssueTokenWithFormdataBodyWithResponse(ctx, nil, form, as("Basic "+basic))).JSON200
	bearer := as("Bearer " + token.AccessToken)

	from, until := os.Getenv("CREATED_FROM"), os.Getenv("CREATED_TO")
	listed := &client.ListOrdersParams{CreatedFrom: &from, CreatedTo: &until}
	orders := must(api.ListOrdersWithResponse(ctx, listed, bearer)).JSON200
	order := must(api.GetOrderWithResponse(ctx, &client.GetOrderParams{OrderId: "o1"}, bearer)).JSON200
	coupon := must(api.GetCouponWithResponse(ctx, &client.GetCouponParams{CouponId: "c1"}, bearer)).JSON200
	menu := must(api.GetMenuWithResponse(ctx, nil, bearer)).JSON200
	changes := must(api.FollowChangesWithResponse(ctx, nil, bearer)).JSON200
	whole := &client.FollowOrdersParams{
		Records:  to(client.FollowOrdersParamsRecords("whole")),
		PageSize: to(int64(1000)),
		Wait:     to(int64(1)),
	}
	followed := must(api.FollowOrdersWithResponse(ctx, whole, bearer)).JSON200
	notes := ""
	for _, change := range followed.Results {
		if record := must(change.Record.AsOrder()); change.Id == "o1" {
			notes = *record.Notes
		}
	}
	facts := map[string]any{
		"orders":      orders.Count,
		"notes":       *order.Notes,
		"usage_limit": strconv.FormatInt(*coupon.UsageLimit, 10),
		"usage_count": strconv.FormatInt(*coupon.UsageCount, 10),
		"categories":  len(menu.Categories),
		"changes":     len(changes.Results),
		"whole":       notes,
	}
	fmt.Println(string(must(json.Marshal(facts))))
}
