import { UsageError } from "../command.ts";
import { upstashPatient } from "../doctor/upstash.ts";
import type { Examination } from "../doctor/examination.ts";
import { shown } from "../terminal/shown.ts";
import { type Address, addressOf, checkNetwork, hostAndPort, networkPermission } from "./address.ts";
import type { OpenedStore, Scheme, StoreUrls } from "./scheme.ts";
import { hostsOf, labelOf } from "./store_urls.ts";
import { checkParameters, decoded } from "./url_parts.ts";

const EXAMPLE = "upstash+https://:TOKEN@us1-merry-cat-32748.upstash.io";

/** Opens databases that speak the REST protocol of Upstash. */
export const upstash: Scheme = {
  protocols: ["upstash+https:", "upstash+http:"],
  example: EXAMPLE,
  open,
  examination,
};

/** The parts of a URL. */
interface RestPlace {
  readonly address: Address;
  readonly url: string;
  readonly token: string;
  readonly prefix: string;
  readonly label: string;
}

async function open([url]: StoreUrls): Promise<OpenedStore> {
  const place = readUpstashUrl(url);
  await checkNetwork([place.address]);
  const { store } = await openPlace(place);
  return { store, label: place.label, prefix: place.prefix, [Symbol.asyncDispose]: () => Promise.resolve() };
}

function examination([url]: StoreUrls): Examination {
  const place = readUpstashUrl(url);
  return {
    permissions: [networkPermission(place.address)],
    async open() {
      const { client, store } = await openPlace(place);
      return upstashPatient(client, { label: place.label, store, prefix: place.prefix });
    },
  };
}

async function openPlace({ url, token, prefix }: RestPlace) {
  const { upstash } = await import("@holdfast/lock/upstash");
  const { redis } = await import("@holdfast/lock/redis");
  const client = upstash({ url, token });
  return { client, store: redis(client, { prefix }) };
}

/**
 * Reads a URL such as `upstash+https://:TOKEN@host?prefix=billing:`.
 *
 * @throws {UsageError} which says what is wrong, without the token
 */
export function readUpstashUrl(url: URL): RestPlace {
  const label = labelOf(url);
  const fail = (what: string) => new UsageError(`${shown(label)} ${what}: write ${EXAMPLE}`);
  const [host, ...others] = hostsOf(url);
  if (host === undefined || others.length > 0) throw fail("must have one host");
  checkParameters(url, ["prefix"], fail);
  const token = url.password;
  if (!/^[!-~]+$/.test(token)) throw fail("has no token");
  const secure = url.protocol === "upstash+https:";
  const address = addressOf(host, secure ? 443 : 80, fail);
  return {
    address,
    url: `${secure ? "https" : "http"}://${hostAndPort(address)}${url.pathname}`,
    token: decoded(token, fail),
    prefix: url.searchParams.get("prefix") ?? "lock:",
    label,
  };
}
