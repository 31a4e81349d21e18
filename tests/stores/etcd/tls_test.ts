// Deno only: it starts a server, and presents a certificate.
import { assertEquals, assertRejects } from "@std/assert";
import { acquire, StoreError } from "@holdfast/lock";
import { etcd, type EtcdFetch } from "@holdfast/lock/etcd";
import { certificates, hasOpenssl } from "../../support/certificates.ts";
import { EtcdServer } from "../../support/etcd_server.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { ignore } from "./place.ts";

Deno.test({
  name: "etcd() with a fetch of its own presents a certificate, beside a user",
  ignore: ignore || !hasOpenssl,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "holdfast_etcd_tls_" });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const { ca, app, named } = await certificates(folder);
    const files = [`--cert-file=${folder}/server.pem`, `--key-file=${folder}/server.key`];
    await using server = new EtcdServer([...files, "--client-cert-auth", `--trusted-ca-file=${folder}/ca.pem`]);
    using client = Deno.createHttpClient({ caCerts: [ca], ...app });
    using other = Deno.createHttpClient({ caCerts: [ca], ...named });
    using stranger = Deno.createHttpClient({ caCerts: [ca] });
    const over = (client: Deno.HttpClient): EtcdFetch => (url, request) => fetch(url, { ...request, client });
    const store = etcd({ endpoints: [server.url], fetch: over(client) });
    server.spawn();
    await until(async () => (await store.query().catch(() => undefined)) !== undefined, "it answers", HANG_MS);
    const lock = await acquire(store, "a");
    const waiting = acquire(etcd({ endpoints: [server.url], fetch: over(client) }), "a", { wait: HANG_MS });
    await until(async () => (await store.query()).pending.length === 1, "it waits");
    await lock.release();
    await (await waiting).release();
    await assertRejects(() => etcd({ endpoints: [server.url], fetch: over(stranger) }).query(), Error);
    const call = async (path: string, body: object) => {
      const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body), client });
      assertEquals(response.status, 200, await response.text());
    };
    await call("/v3/auth/user/add", { name: "root", password: "secret" });
    await call("/v3/auth/role/add", { name: "root" });
    await call("/v3/auth/user/grant", { user: "root", role: "root" });
    await call("/v3/auth/enable", {});
    await assertRejects(() => store.query(), StoreError, "give username and password");
    const login = { endpoints: [server.url], username: "root", password: "secret" };
    assertEquals((await etcd({ ...login, fetch: over(client) }).query()).held, []);
    await assertRejects(() => etcd({ ...login, fetch: over(other) }).query(), StoreError, "CommonName of client");
  },
});
