// Deno only: it writes the snapshot.
import { assert, assertEquals } from "@std/assert";
import { programHelp } from "../../src/arguments/help.ts";
import { UsageError } from "../../src/command.ts";
import { readEtcdUrl } from "../../src/schemes/etcd.ts";
import { readMysqlUrl } from "../../src/schemes/mysql.ts";
import { readPostgresUrl } from "../../src/schemes/postgres.ts";
import { readRedisUrl } from "../../src/schemes/redis_url.ts";
import { schemeOf } from "../../src/schemes/registry.ts";
import type { StoreUrls } from "../../src/schemes/scheme.ts";
import { readSqliteUrl } from "../../src/schemes/sqlite.ts";
import { findStoreUrls } from "../../src/schemes/store_urls.ts";
import { readUpstashUrl } from "../../src/schemes/upstash.ts";
import { readZookeeperUrl } from "../../src/schemes/zookeeper.ts";
import { textOf } from "../../../../tests/support/test_files.ts";

/** What the URLs of stores are read as, and what is said of wrong ones. `UPDATE_TEXTS=1` writes it. */
const SNAPSHOT = "packages/cli/tests/schemes/urls.txt";

/** The readers, by the first protocol of their scheme. */
const READERS: Readonly<Record<string, (url: URL) => unknown>> = {
  "redis:": readRedisUrl,
  "upstash+https:": readUpstashUrl,
  "postgres:": readPostgresUrl,
  "mysql:": readMysqlUrl,
  "etcd:": readEtcdUrl,
  "zookeeper:": readZookeeperUrl,
  "sqlite:": (url) => ({ path: readSqliteUrl(url) }),
};

/** Right and wrong values of `--store`; several URLs have spaces between them. */
const STORES = [
  "redis://",
  "rediss://us%40er:secret%3Aw@h:7000/3?prefix=a%20b:&replicas=2",
  "redis://[::1]:1",
  "redis://u:secret@h/x",
  "redis://u:secret@h/1/2",
  "redis://u:secret@a,b",
  "redis://h?prefx=a",
  "redis://h?replicas=0",
  "redis://h?sentinelPassword=secret",
  "redis://h#a",
  "redis://%E0%A4%A:secret@h",
  "redis+sentinel://a,b:1/my%2Fm/4?sentinelPassword=secret&sentinelUsername=u",
  "rediss+sentinel://a/m",
  "redis+sentinel://u:secret@h",
  "redis+sentinel://h/m/x",
  "redis+sentinel://a,b:99999/m",
  "redis+cluster://a:1,b:2",
  "rediss+cluster://:secret@a/0",
  "redis+cluster://h/1",
  "redis+cluster://h?replicas=1",
  "upstash+https://:secret%3Db@db.example.com/path?prefix=b:",
  "upstash+http://:secret@127.0.0.1:8080",
  "upstash+http://:secret@h",
  "upstash+https://db",
  "upstash+https://:secret@",
  "upstash+https://:secret@a,b",
  "upstash+https://:secret@a?x=1",
  "upstash+https://:secret%zz@a",
  "upstash+https://:secret@a:0",
  "postgres://u:secret@h/shop?sslmode=require&schema=s&table=t&listen=false",
  "postgresql://[::1]:1/shop",
  "postgres:///shop",
  "postgres://u:secret@h:0/shop",
  "postgres://h/shop?listen=no",
  "postgres://a,b/shop",
  "postgres://h/shop#a",
  "mysql://a%40b:secret%2Fw@db.example:3307/my%20shop?table=l%60s",
  "mariadb://[::1]/shop",
  "mysql:///shop",
  "mysql://u:secret@a",
  "mysql://u:secret@a/b/c",
  "mysql://a,b/c",
  "mysql://a/b?x=1",
  "mysql://a/b#c",
  "mysql://a/%",
  "mysql://a:0/b",
  "etcds://a%40b:secret%2Fw@db.example,[::1]:1?prefix=l%2F",
  "etcd://h:1/",
  "etcd:",
  "etcd://u:secret@a/b",
  "etcd://a?x=1",
  "etcd://a?prefix=",
  "etcd://:secret@a",
  "etcd://%@a",
  "etcd://a#b",
  "etcd://a:0",
  "zookeeper://a:secret%40@zk1:1,zk2/app/x?path=/locks",
  "zookeeper://zk1/",
  "zookeeper:///a",
  "zookeeper://u:secret@a?prefix=b",
  "zookeeper://a#b",
  "zookeeper://a?path=b",
  "zookeeper://[::1]:2181",
  "zookeeper://a/%zz",
  "zookeeper://a:0",
  "sqlite:path/to/locks.db",
  "sqlite:/a%20b%3F,c.db",
  "sqlite:///a/b.db",
  "sqlite://a/b.db",
  "sqlite:a?b",
  "sqlite:a#b",
  "sqlite:a%zz",
  "sqlite:",
  "sqlite::memory:",
  "ftp://u:secret@h",
  "redis//u:secret@h",
  "redis://a rediss://b",
  "redis://a sqlite:b",
  "sqlite:a redis://b",
  "sqlite:a sqlite:b",
];

/** Returns what is needed to reach the stores of URLs, and what the URLs say; or what is wrong with them. */
function said(urls: StoreUrls): string[] {
  const scheme = schemeOf(urls);
  const { permissions } = scheme.examination(urls);
  const places = urls.map((url) => JSON.stringify(READERS[scheme.protocols[0]!]!(url)));
  return [permissions.map(({ flag }) => flag).join(" "), ...places];
}

/** Resolves to the snapshot: the help, and each value with what is said of it. */
async function texts(): Promise<string> {
  const [, help] = /^(Stores:\n.*?)\n\n/ms.exec(programHelp([]))!;
  const paragraphs = [help];
  for (const store of STORES) {
    const stores = store.split(" ");
    const lines = await findStoreUrls({ stores, config: undefined, env: {} }).then(said).catch((error: unknown) => {
      assert(error instanceof UsageError, `${store}: ${error}`);
      assert(!error.message.includes("secret"), error.message);
      return [`wrong: ${error.message}`];
    });
    paragraphs.push([store, ...lines.map((line) => `  ${line}`)].join("\n"));
  }
  return paragraphs.join("\n\n") + "\n";
}

Deno.test("the URLs of stores are read and refused as urls.txt has it", async () => {
  const found = await texts();
  if (Deno.env.get("UPDATE_TEXTS") === "1") Deno.writeTextFileSync(new URL("urls.txt", import.meta.url), found);
  assertEquals(found, textOf(SNAPSHOT));
});
