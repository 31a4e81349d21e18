import { UsageError } from "../command.ts";
import { permissionFor } from "../doctor/deno_permissions.ts";
import type { Patient } from "../doctor/examination.ts";
import { deniedPermissions } from "../permissions.ts";
import { answerOf, diagnosed } from "../terminal/answer.ts";
import { type Address, hostAndPort } from "./address.ts";
import type { OpenedStore, Scheme } from "./scheme.ts";

/** A technology with servers: how it reads its URLs, and connects to what they name. */
export interface Servers<Place> extends Pick<Scheme, "protocols" | "example" | "quorum"> {
  /** Reads a URL. Throws a `UsageError` if it is wrong. */
  read(url: URL): Place;
  /** Throws unless a store can be opened at these places together. */
  check?(places: readonly Place[]): void;
  /** Makes the store of one place, or of several that are a quorum. */
  connect(places: Places<Place>): Promise<ConnectedStore>;
}

/** A place, or the places of a quorum. */
export type Places<Place> = readonly [Place, ...Place[]];

/** The parts that the URLs of all technologies with servers have. */
interface ServerPlace {
  readonly addresses: readonly Address[];
  readonly label: string;
  /** Whether the servers name further servers. */
  readonly further?: boolean;
}

/** The store of some places. */
export interface ConnectedStore extends Pick<OpenedStore, "store" | "prefix" | "diagnose" | "partial"> {
  /** Resolves when the store can be asked. Rejects with a `UsageError` if it must exist, and does not. */
  ready?(existing: boolean): Promise<void>;
  /** Returns the store for `doctor`, which closes it. */
  patient(): Patient;
  close?(): Promise<void>;
}

/** Returns the scheme of a technology with servers. */
export function servers<Place extends ServerPlace>(
  { read, check = () => {}, connect, ...named }: Servers<Place>,
): Scheme {
  const placesOf = ([first, ...others]: Places<URL>): Places<Place> => [read(first), ...others.map(read)];
  return {
    ...named,
    async open(urls, { existing = false } = {}) {
      const places = placesOf(urls);
      check(places);
      await checkNetwork(places);
      const { ready, close = () => Promise.resolve(), ...connected } = await connect(places);
      const label = places.map(({ label }) => label).join(", ");
      const opened: OpenedStore = { ...connected, label, [Symbol.asyncDispose]: close };
      try {
        if (ready !== undefined) await answerOf(opened, ready(existing), new AbortController().signal);
        return opened;
      } catch (error) {
        throw await diagnosed(opened, error).finally(close);
      }
    },
    examination(urls) {
      const places = placesOf(urls);
      return {
        permissions: addressesOf(places).map((at) => permissionFor("net", at, "The server cannot be reached.")),
        open: async () => (await connect(places)).patient(),
      };
    },
  };
}

async function checkNetwork(places: readonly ServerPlace[]): Promise<void> {
  const denied = await deniedPermissions(addressesOf(places).map((of) => ({ name: "net", of })));
  if (denied.length === 0) return;
  const more = places.some(({ further }) => further) ? ", and allow the servers behind them too" : "";
  throw new UsageError(`Deno denies access to the network: run with ${denied.join(" ")}${more}`);
}

function addressesOf(places: readonly ServerPlace[]): string[] {
  return places.flatMap(({ addresses }) => addresses.map(hostAndPort));
}
