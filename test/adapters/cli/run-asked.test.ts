/** What `fleetwright run --on` is about once somebody agreed, in fleets that no call could name. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { runIn } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A server with so many agents, which takes no run. Resolves with what it was asked to run on. */
async function startFleetOf(count: number): Promise<{ url: string; asked: unknown[] }> {
  const asked: unknown[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      response.setHeader("content-type", "application/json");
      if (request.method === "POST") {
        asked.push(await json(request));
        response.statusCode = 409;
        response.setHeader("content-type", "application/problem+json");
        return response.end(JSON.stringify({ code: "INVALID_TRANSITION", status: 409, title: "No." }));
      }
      const query = new URL(request.url ?? "", "http://fleet.example").searchParams;
      const from = Number(query.get("cursor") ?? 0);
      const to = Math.min(count, from + Number(query.get("limit")));
      const items = Array.from({ length: to - from }, (_, at) => ({
        node_id: `n${from + at}`,
        hostname: "h",
      }));
      return response.end(JSON.stringify({ items, next_cursor: to < count ? `${to}` : null }));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

test.each([
  [2, { node_ids: ["n0", "n1"] }, "2 agents"],
  [10_000, { node_ids: expect.objectContaining({ length: 10_000 }) }, "10,000 agents"],
  [10_001, { selector: "*" }, "10,001 agents"],
])("of %i agents the run is on all that were told", async (count, where, told) => {
  const { url, asked } = await startFleetOf(count);
  const args = ["run", "--on", "*", "--", "uptime"];
  const { stderr } = await runIn(temporaryFolder(), args, url, { typed: "y" });
  expect(stderr.replaceAll(",", "")).toContain(`Run it on ${told.replaceAll(",", "")}?`);
  expect(asked).toEqual([expect.objectContaining(where)]);
});
