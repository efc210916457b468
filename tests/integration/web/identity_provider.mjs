// A real identity provider (npm's oidc-provider), for one public client: node identity_provider.mjs PACKAGES PORT PAGE
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, port, page] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(join(packages, "oidc-provider", "lib", "index.js")));

const provider = new Provider(`http://localhost:${port}`, {
  clients: [{
    client_id: "page", redirect_uris: [`${page}/auth/callback`], response_types: ["code"],
    grant_types: ["authorization_code", "refresh_token"], token_endpoint_auth_method: "none", application_type: "native",
  }],
  // What a person may do stands in the identity token, as most providers have it.
  claims: { openid: ["sub", "roles"] },
  conformIdTokenClaims: false,
  findAccount: (_context, id) => ({
    accountId: id, claims: () => ({ sub: id, roles: id === "operatrice" ? ["sourcier-operator"] : [] }),
  }),
  features: { devInteractions: { enabled: true } },
  cookies: { keys: ["of a test"] },
});
provider.listen(Number(port), "127.0.0.1", () => process.stdout.write("ready\n"));
