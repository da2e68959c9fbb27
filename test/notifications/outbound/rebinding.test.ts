/** Names whose server answers otherwise from one moment to the next: over real queries, to a name server of the test's own. */
import { Resolver } from "node:dns/promises";
import { describe, expect, it } from "vitest";
import { CheckedOutbound } from "../../../lib/notifications/outbound/checked-outbound.ts";
import { webhookChannelType } from "../../../lib/notifications/senders/webhook.ts";
import { startNameServer, type NameAnswer } from "../../support/name-server.ts";
import { startReceiver, startSocketServer } from "../../support/receiver.ts";
import { send } from "../senders/scene.ts";

/** Stands for a public address: the only one of this machine that may be connected to. */
const open = "127.0.0.1";
/** Stands for what is inside. */
const inside = "127.0.0.2";

/** Connections that look names up at a server, over and over: nothing is kept. */
function outboundOver(
  server: string,
  { family = 4, patienceMs = 10_000 }: { family?: 4 | 6; patienceMs?: number } = {},
): CheckedOutbound {
  const resolver = new Resolver({ timeout: patienceMs, tries: 1 });
  resolver.setServers([server]);
  return new CheckedOutbound({
    allow: [`${open}/32`],
    connectTimeoutMs: 20_000,
    requestTimeoutMs: 20_000,
    resolve: (name) => (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name)),
  });
}

async function scene(answerTo: (name: string, times: number) => NameAnswer) {
  const { port, received } = await startReceiver((response) => response.end(), { host: open });
  const private_ = await startSocketServer((socket) => socket.destroy(), { host: inside, port });
  const names = await startNameServer(answerTo);
  const url = `http://rebinding.example:${port}/hook`;
  return { url, received, insideConnections: private_.connections, ...names };
}

describe("a name server that says a public address first and a private one then", () => {
  it("is asked once for a request, and the connection goes to what was checked", async () => {
    const { url, received, insideConnections, address, asked } = await scene((_, times) =>
      times === 1 ? [open] : [inside],
    );
    const outbound = outboundOver(address);
    expect(await outbound.request(url, { method: "POST", body: "first" })).toEqual({ ok: true, status: 200 });
    expect(asked).toEqual(["rebinding.example"]);
    expect(await outbound.request(url, { method: "POST", body: "second" })).toEqual({
      ok: false,
      error: "the name of the host leads to a loopback address, which channelNetworks does not allow",
      permanent: true,
    });
    expect(asked).toEqual(["rebinding.example", "rebinding.example"]);
    expect([received.map(({ body }) => body), insideConnections()]).toEqual([["first"], 0]);
  });

  it("however often it changes its mind: each request that arrives arrives where it was checked", async () => {
    const { url, received, insideConnections, address, asked } = await scene((_, times) =>
      times % 2 === 0 ? [open] : [inside],
    );
    const outbound = outboundOver(address);
    const answers = [];
    for (let times = 0; times < 20; times += 1)
      answers.push((await outbound.request(url, { method: "GET" })).ok);
    expect(answers).toEqual(Array.from({ length: 20 }, (_, times) => times % 2 === 1));
    expect([received.length, insideConnections(), asked.length]).toEqual([10, 0, 20]);
  });

  it("is refused to a channel, for good: the message is not tried again", async () => {
    const { url, received, insideConnections, address } = await scene((_, times) =>
      times === 1 ? [open] : [inside],
    );
    const outbound = outboundOver(address);
    const config = { url };
    expect(await send(webhookChannelType, config, { outbound })).toMatchObject({ delivered: true });
    expect(await send(webhookChannelType, config, { outbound })).toMatchObject({
      delivered: false,
      permanent: true,
      error: expect.stringContaining("leads to a loopback address") as string,
    });
    expect([received.length, insideConnections()]).toEqual([1, 0]);
  });
});

describe("an answer", () => {
  it.each<[string, readonly string[], 4 | 6]>([
    ["with a private address beside a public one", [open, inside], 4],
    ["with the private one first", [inside, open], 4],
    ["that is an alias of an inner name", ["db.inside.example", inside], 4],
    ["that is an alias of an alias", ["a.example", "b.example", "10.0.0.7"], 4],
    ["of cloud metadata", ["169.254.169.254"], 4],
    ["of any address", ["0.0.0.0"], 4],
    ["of this machine, as IPv6", ["::1"], 6],
    ["of an IPv4 address in IPv6", ["::ffff:7f00:2"], 6],
    ["of an IPv4 address behind NAT64", ["64:ff9b::7f00:2"], 6],
  ])("%s is refused as a whole, and nothing is connected to", async (_what, answer, family) => {
    const { url, received, insideConnections, address, asked } = await scene(() => answer);
    const outcome = await outboundOver(address, { family }).request(url, { method: "GET" });
    expect(outcome).toMatchObject({ ok: false, permanent: true });
    expect(outcome).toHaveProperty(
      "error",
      expect.stringMatching(
        /^the name of the host leads to .* address, which channelNetworks does not allow$/,
      ),
    );
    expect([received.length, insideConnections(), asked.length]).toEqual([0, 0, 1]);
  });

  it.each<[string, NameAnswer, string]>([
    ["that there is no such name", { rcode: 3 }, "the name of the host is not known"],
    ["that a name has no address", [], "the name of the host is not known"],
    ["of a failure", { rcode: 2 }, "the name of the host could not be looked up"],
    ["of a refusal", { rcode: 5 }, "the name of the host could not be looked up"],
    ["that does not come", "silence", "the name of the host could not be looked up"],
  ])("%s is told in words, and may be asked for again", async (_what, answer, error) => {
    const { url, received, address } = await scene(() => answer);
    const patience = answer === "silence" ? { patienceMs: 200 } : {};
    expect(await outboundOver(address, patience).request(url, { method: "GET" })).toEqual({
      ok: false,
      error,
      permanent: false,
    });
    expect(received).toEqual([]);
  });
});
