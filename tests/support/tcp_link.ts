import type { Socket } from "node:net";
import { Flow, type Manner } from "./tcp_flow.ts";

/** How the two ways through connections are; the one that is left out stays as it is. */
export interface Manners {
  readonly requests?: Manner;
  readonly replies?: Manner;
}

/** One connection through a proxy. */
export class Link {
  readonly client: Socket;
  readonly server: Socket;
  readonly requests: Flow;
  readonly replies: Flow;
  /**
   * Given when replies are to be lost, together with the connection, after so many bytes; is told of it, or that none
   * was.
   */
  lost: { after: number; readonly struck: () => void; readonly given: (error: Error) => void } | undefined;
  /** Whether neither end is notified when the other one closes. */
  halfOpen = false;

  /** Joins the two ends. */
  constructor(client: Socket, server: Socket) {
    this.client = client;
    this.server = server;
    this.requests = new Flow(server);
    this.replies = new Flow(client);
  }

  /** Changes how the two ways are. */
  set manners({ requests, replies }: Manners) {
    if (requests !== undefined) this.requests.manner = requests;
    if (replies !== undefined) this.replies.manner = replies;
  }

  /** Breaks the connection so that the client is told of a failure, and not of an end. */
  reset(): void {
    this.client.resetAndDestroy();
    this.server.destroy();
  }

  /** Breaks the connection, so that both ends notice. */
  cut(): void {
    this.client.destroy();
    this.server.destroy();
  }
}
