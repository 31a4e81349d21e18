import { upstashPatient } from "../doctor/upstash.ts";
import { type Address, hostAndPort } from "./address.ts";
import { type ConnectedStore, type Places, servers } from "./servers.ts";
import { partsOf } from "./url_parts.ts";

const FORM = {
  example: "upstash+https://:TOKEN@us1-merry-cat-32748.upstash.io",
  one: "a database has one",
  parameters: ["prefix"],
};

/** Opens databases that speak the REST protocol of Upstash. */
export const upstash = servers({
  protocols: ["upstash+https:", "upstash+http:"],
  example: FORM.example,
  read: readUpstashUrl,
  connect,
});

/** The parts of a URL. */
interface RestPlace {
  readonly addresses: readonly Address[];
  readonly url: string;
  readonly token: string;
  readonly prefix: string;
  readonly label: string;
}

async function connect([{ url, token, prefix, label }]: Places<RestPlace>): Promise<ConnectedStore> {
  const { upstash } = await import("@holdfast/lock/upstash");
  const { redis } = await import("@holdfast/lock/redis");
  const client = upstash({ url, token });
  const store = redis(client, { prefix });
  return { store, prefix, patient: () => upstashPatient(client, { label, store, prefix }) };
}

/** Reads a URL such as `upstash+https://:TOKEN@host?prefix=billing:`. */
export function readUpstashUrl(url: URL): RestPlace {
  const secure = url.protocol === "upstash+https:";
  const { label, addresses, password: token, parameters, fail } = partsOf(url, { ...FORM, port: secure ? 443 : 80 });
  if (token === undefined) throw fail("has no token");
  return {
    addresses,
    url: `${secure ? "https" : "http"}://${addresses.map(hostAndPort)}${url.pathname}`,
    token,
    prefix: parameters["prefix"] ?? "lock:",
    label,
  };
}
