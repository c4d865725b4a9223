// The OAuth client of Go, as its documentation has it: the authentication style is left to it to find out.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"golang.org/x/oauth2/clientcredentials"
)

type task struct {
	TokenURL string `json:"token_url"`
	DataURL  string `json:"data_url"`
	Keys     []struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	} `json:"keys"`
}

type result struct {
	ClientID string `json:"client_id"`
	Status   int    `json:"status"`
	Count    int    `json:"count"`
}

func main() {
	var given task
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		log.Fatal(err)
	}
	results := []result{}
	for _, key := range given.Keys {
		config := clientcredentials.Config{
			ClientID:     key.ClientID,
			ClientSecret: key.ClientSecret,
			TokenURL:     given.TokenURL,
			Scopes:       []string{"order"},
		}
		results = append(results, read(config.Client(context.Background()), given.DataURL, key.ClientID))
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		log.Fatal(err)
	}
}

func read(client *http.Client, url string, clientID string) result {
	response, err := client.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	var list struct {
		Count int `json:"count"`
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		log.Fatal(err)
	}
	return result{clientID, response.StatusCode, list.Count}
}
