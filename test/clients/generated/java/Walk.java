// Walks through the API with the client that openapi-generator makes, and prints facts as JSON.

import com.google.gson.Gson;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.AccessApi;
import org.openapitools.client.api.ChangesApi;
import org.openapitools.client.api.CouponsApi;
import org.openapitools.client.api.MenuApi;
import org.openapitools.client.api.OrdersApi;

public class Walk {
  public static void main(String[] args) throws Exception {
    Map<String, String> env = System.getenv();
    ApiClient api = new ApiClient();
    api.setBasePath(env.get("BASE_URL"));
    api.setUsername(env.get("CLIENT_ID"));
    api.setPassword(env.get("CLIENT_SECRET"));
    api.setAccessToken(new AccessApi(api).issueToken("client_credentials", null, null).getAccessToken());

    var orders = new OrdersApi(api);
    var listed = orders.listOrders(
        null, null, null, null, env.get("CREATED_FROM"), env.get("CREATED_TO"), null, null, null, null);
    var coupon = new CouponsApi(api).getCoupon("c1", null, null);
    var changes = new ChangesApi(api).followChanges(null, null, null, null, null, null);
    new ChangesApi(api).followChanges(List.of("order", "coupon"), "whole", null, 1000L, 1L, "walk");
    var whole = orders.followOrders("whole", null, 1000L, 1L, null).getResults().stream()
        .filter(change -> change.getId().equals("o1"))
        .map(change -> change.getRecord().getOrder().getNotes())
        .findFirst();

    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("orders", listed.getCount());
    facts.put("notes", orders.getOrder("o1", null, null).getNotes());
    facts.put("usage_limit", String.valueOf(coupon.getUsageLimit()));
    facts.put("usage_count", String.valueOf(coupon.getUsageCount()));
    facts.put("categories", new MenuApi(api).getMenu(null, null).getCategories().size());
    facts.put("changes", changes.getResults().size());
    facts.put("whole", whole.orElseThrow());
    System.out.println(new Gson().toJson(facts));
    System.exit(0);
  }
}
