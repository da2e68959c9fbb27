import { request, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import { PublicText } from "../../../adapters/rest/public-text.ts";
import { serve } from "../../support/server.ts";

const unpack = { br: brotliDecompressSync, gzip: gunzipSync };

describe("a text that everybody gets alike", () => {
  const text = "the same ".repeat(1_000);
  const shown = new PublicText(text);

  it.each([
    [undefined, null],
    ["", null],
    ["identity", null],
    ["gzip", "gzip"],
    ["GZip", "gzip"],
    ["gzip, deflate, br", "br"],
    ["br;q=0, gzip", "gzip"],
    ["br;q=0.5, gzip;q=0.8", "gzip"],
    ["br; q=0.5 , identity;q=0.8", null],
    ["*", "br"],
    ["*;q=0", null],
    ["gzip;q=0, *", "br"],
    ["zstd", null],
    ["br;q=x", null],
    [",;=,", null],
  ])("is sent to %j as %s", async (accepted, encoding) => {
    const sent = await shown.for(accepted);
    expect(sent.encoding).toBe(encoding);
    if (sent.encoding === null) expect(sent.body).toBe(text);
    else expect(unpack[sent.encoding](sent.body).toString()).toBe(text);
  });

  it("is compressed once", async () => {
    const [first, second] = await Promise.all([shown.for("br"), shown.for("br")]);
    expect(first.body).toBe(second.body);
  });

  it("is made once, by who asks first, and again where it could not be made", async () => {
    let made = 0;
    const late = new PublicText(async () => {
      made += 1;
      if (made === 1) throw new Error("Not yet.");
      return text;
    });
    await expect(Promise.all([late.for("br"), late.for(null)])).rejects.toThrow("Not yet.");
    expect(made).toBe(1);
    for (const accepted of ["gzip", null, "br"]) await late.for(accepted);
    expect(made).toBe(2);
  });
});

describe("on a server", () => {
  const open = [
    "/docs",
    "/docs/style.css",
    "/problems",
    "/problems/not-found",
    "/api/v1/openapi.json",
    "/schemas/module.json",
  ];

  it("pages and descriptions are compressed, with what caches must know", async () => {
    await using product = await createTestOrchestrator();
    await using server = await serve(product.orchestrator);
    for (const path of open) {
      const plain = await get(server.port, path);
      expect(plain.headers.vary, path).toContain("accept-encoding");
      expect(plain.headers["content-encoding"]).toBeUndefined();
      for (const encoding of ["br", "gzip"] as const) {
        const { headers, body } = await get(server.port, path, encoding);
        expect([headers["content-encoding"], headers["content-type"]], path).toEqual([
          encoding,
          plain.headers["content-type"],
        ]);
        expect(headers.vary).toBe(plain.headers.vary);
        expect(unpack[encoding](body).equals(plain.body), path).toBe(true);
        const head = await get(server.port, path, encoding, "HEAD");
        expect([head.headers["content-encoding"], head.body.length]).toEqual([encoding, 0]);
      }
    }
    const whole = (await get(server.port, "/docs")).body.length;
    expect((await get(server.port, "/docs", "br")).body.length).toBeLessThan(whole / 10);
  });

  it("what may hold a secret beside what a stranger chose is not", async () => {
    await using product = await createTestOrchestrator();
    await using server = await serve(product.orchestrator);
    for (const path of [
      "/api/v1/status",
      "/api/v1/agents",
      "/api/v1/nothing",
      "/trpc/status.get",
      "/livez",
    ]) {
      const { headers } = await get(server.port, path, "br, gzip");
      expect(headers["content-encoding"], path).toBeUndefined();
    }
  });
});

/** What is sent, as it is. */
function get(port: number, path: string, encoding?: string, method = "GET") {
  return new Promise<{ headers: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
    const headers = encoding === undefined ? {} : { "accept-encoding": encoding };
    request({ host: "127.0.0.1", port, path, method, headers, agent: false }, (response) => {
      buffer(response).then((body) => resolve({ headers: response.headers, body }), reject);
    })
      .on("error", reject)
      .end();
  });
}
