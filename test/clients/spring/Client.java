// Spring Security's OAuth client with RestClient, as its documentation has it, without Spring Boot.

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.springframework.security.oauth2.client.AuthorizedClientServiceOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.InMemoryOAuth2AuthorizedClientService;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.client.registration.InMemoryClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.client.OAuth2ClientHttpRequestInterceptor;
import org.springframework.security.oauth2.client.web.client.RequestAttributeClientRegistrationIdResolver;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.web.client.RestClient;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Reads a task and prints the results, both JSON. */
public class Client {
  public static void main(String[] args) {
    JsonMapper json = JsonMapper.shared();
    JsonNode task = json.readTree(System.in);
    List<ClientRegistration> registrations = new ArrayList<>();
    for (JsonNode key : task.get("keys")) {
      registrations.add(register(key, task.get("token_url").asString()));
    }
    var repository = new InMemoryClientRegistrationRepository(registrations);
    var service = new InMemoryOAuth2AuthorizedClientService(repository);
    var manager = new AuthorizedClientServiceOAuth2AuthorizedClientManager(repository, service);
    var client = RestClient.builder()
        .requestInterceptor(new OAuth2ClientHttpRequestInterceptor(manager))
        .build();
    var results = registrations.stream()
        .map(registration -> read(client, registration, task.get("data_url").asString()))
        .toList();
    System.out.println(json.writeValueAsString(results));
  }

  private static ClientRegistration register(JsonNode key, String tokenUrl) {
    String clientId = key.get("client_id").asString();
    return ClientRegistration.withRegistrationId(clientId)
        .clientId(clientId)
        .clientSecret(key.get("client_secret").asString())
        .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS)
        .tokenUri(tokenUrl)
        .scope("order")
        .build();
  }

  private static Map<String, Object> read(RestClient client, ClientRegistration registration, String url) {
    var answer = client.get()
        .uri(url)
        .attributes(RequestAttributeClientRegistrationIdResolver.clientRegistrationId(registration.getRegistrationId()))
        .retrieve()
        .toEntity(Map.class);
    return Map.of(
        "client_id", registration.getClientId(),
        "status", answer.getStatusCode().value(),
        "count", answer.getBody().get("count"));
  }
}
