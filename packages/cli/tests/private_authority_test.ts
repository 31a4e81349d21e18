// Deno only: it starts servers, and processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { certificates, hasOpenssl } from "../../../tests/support/certificates.ts";
import { EtcdServer } from "../../../tests/support/etcd_server.ts";
import { freePort } from "../../../tests/support/free_port.ts";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { HANG_MS, until } from "../../../tests/support/until.ts";
import { ignore as noEtcd } from "../../../tests/stores/etcd/place.ts";
import { holdfast, type Start } from "./cli_process.ts";

/** The ways to name an authority that `docs/command_line.md` has. */
const WAYS: Readonly<Record<string, (ca: string) => Start>> = {
  NODE_EXTRA_CA_CERTS: (ca) => ({ env: { NODE_EXTRA_CA_CERTS: ca } }),
  DENO_CERT: (ca) => ({ env: { DENO_CERT: ca } }),
  "--cert": (ca) => ({ flags: ["--allow-all", `--cert=${ca}`] }),
};

/** Checks that each way connects to a server whose certificate has a private authority, and that nothing else does. */
async function assertTrusted(store: string, ca: string): Promise<void> {
  for (const [way, start] of Object.entries(WAYS)) {
    const { status, out, err } = await holdfast(["run", "a", "--", "echo", "done"], { store, ...start(ca) });
    assertEquals([way, status, out], [way, 0, "done\n"], err);
  }
  const { status, err } = await holdfast(["ls"], { store });
  assert(status === 69 && /self-signed certificate in certificate chain|invalid peer certificate/.test(err), err);
}

Deno.test({
  name: "holdfast connects to a Redis with a certificate of a private authority",
  ignore: !hasOpenssl,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "holdfast_authority_" });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    await certificates(folder);
    const port = freePort();
    const files = ["--tls-cert-file", `${folder}/server.pem`, "--tls-key-file", `${folder}/server.key`];
    const tls = ["--tls-port", `${port}`, "--tls-auth-clients", "no", "--tls-ca-cert-file", `${folder}/ca.pem`];
    await using _server = await RedisServer.start([...files, ...tls]);
    await assertTrusted(`rediss://127.0.0.1:${port}`, `${folder}/ca.pem`);
  },
});

Deno.test({
  name: "holdfast connects to an etcd with a certificate of a private authority",
  ignore: noEtcd || !hasOpenssl,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "holdfast_authority_" });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    await certificates(folder);
    await using server = new EtcdServer([`--cert-file=${folder}/server.pem`, `--key-file=${folder}/server.key`]);
    server.spawn();
    const store = server.url.replace("https:", "etcds:");
    const start = { store, env: { NODE_EXTRA_CA_CERTS: `${folder}/ca.pem` } };
    await until(async () => (await holdfast(["ls"], start)).status === 0, "it answers", HANG_MS);
    await assertTrusted(store, `${folder}/ca.pem`);
  },
});
