import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect } from "node:net";
import { HttpServer } from "../../src/server/http_server.ts";
import { until } from "../../../../tests/support/until.ts";

const HOST = "127.0.0.1";

/** A server on a free port, and where it is. */
async function serve(handler: (request: Request) => Promise<Response>): Promise<{ server: HttpServer; url: string }> {
  const server = await HttpServer.start(handler, 0, HOST);
  return { server, url: `http://${HOST}:${server.port}` };
}

/** Sends text over a connection, and resolves to all that comes back. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(port, HOST, () => socket.write(text));
    socket.setEncoding("utf8");
    socket.on("data", (data) => answer += data);
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}

Deno.test("HttpServer gives the handler the request as it came", async () => {
  const { server, url } = await serve(async (request) => {
    const { method, headers } = request;
    return Response.json({ url: request.url, method, own: headers.get("x-own"), body: await request.text() });
  });
  const response = await fetch(`${url}/a%2Fb?c=%00`, { method: "POST", headers: { "x-own": "1" }, body: "d=e" });
  assertEquals(await response.json(), { url: `${url}/a%2Fb?c=%00`, method: "POST", own: "1", body: "d=e" });
  await server.close();
});

Deno.test("HttpServer sends the response with status, headers and cookies", async () => {
  const { server, url } = await serve(() => {
    const headers = new Headers({ "x-own": "1" });
    for (const cookie of ["a=1", "b=2"]) headers.append("set-cookie", cookie);
    return Promise.resolve(new Response("text", { status: 418, headers }));
  });
  const response = await fetch(url);
  assertEquals([response.status, response.headers.get("x-own"), await response.text()], [418, "1", "text"]);
  assertEquals(response.headers.getSetCookie(), ["a=1", "b=2"]);
  await server.close();
});

Deno.test("HttpServer sends a stream as it comes, and ends it when the client is gone", async () => {
  let cancelled = false;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const { server, url } = await serve(() => {
    const body = new ReadableStream<Uint8Array>({
      start: (started) => {
        controller = started;
        controller.enqueue(new TextEncoder().encode("first"));
      },
      cancel: () => {
        cancelled = true;
      },
    });
    return Promise.resolve(new Response(body));
  });
  const response = await fetch(url);
  const reader = response.body!.getReader();
  assertEquals(new TextDecoder().decode((await reader.read()).value), "first");
  controller?.enqueue(new TextEncoder().encode("second"));
  assertEquals(new TextDecoder().decode((await reader.read()).value), "second");
  await reader.cancel();
  await until(() => cancelled, "the stream ends");
  await server.close();
});

Deno.test("HttpServer.close() ends streams that are still open", async () => {
  const { server, url } = await serve(() => Promise.resolve(new Response(new ReadableStream({}))));
  const response = await fetch(url);
  await server.close();
  await response.body?.cancel().catch(() => {});
  await assertRejects(() => fetch(url), TypeError);
});

Deno.test("HttpServer refuses requests that it cannot read", async () => {
  let handled = 0;
  const { server } = await serve(() => {
    handled++;
    return Promise.resolve(new Response());
  });
  const unreadable = await raw(server.port, "GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n");
  assert(/^HTTP\/1.1 400 /.test(unreadable), unreadable);
  const long = "x".repeat(70_000);
  const answer = await raw(
    server.port,
    `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: ${long.length}\r\n\r\n${long}`,
  );
  assert(/^HTTP\/1.1 413 /.test(answer), answer);
  assertEquals(handled, 0);
  await server.close();
});

Deno.test("HttpServer takes two slashes at the beginning for a path", async () => {
  const { server } = await serve(({ url }) => Promise.resolve(new Response(url)));
  const answer = await raw(server.port, "GET //other.test/x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
  assert(answer.includes("http://a.test//other.test/x"), answer);
  await server.close();
});

Deno.test("HttpServer.start() rejects when the port is taken", async () => {
  const { server } = await serve(() => Promise.resolve(new Response()));
  const second = HttpServer.start(() => Promise.resolve(new Response()), server.port, HOST);
  const error: Error & { code?: string } = await assertRejects(() => second, Error);
  assertEquals(error.code, "EADDRINUSE");
  await server.close();
});
