/** A server whose certificate is not trusted: no waiting makes it so, and nobody is to wait. */
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createClient } from "fleetwright/client";
import type { Client, Fetch } from "fleetwright/client";
import { createCertificate } from "../../support/certificate.ts";
import { runIn } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const reason = "its certificate is not trusted here (DEPTH_ZERO_SELF_SIGNED_CERT)";

/** A client of such a server, and how often it has called. */
async function startUntrusted(): Promise<{ url: string; client: Client; calls: () => number }> {
  const server = createServer(await createCertificate(), (_request, response) => void response.end("{}"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let calls = 0;
  const counted: Fetch = (target, init) => {
    calls += 1;
    return fetch(target, init);
  };
  return { url, client: createClient({ url, token: "fw_x", fetch: counted }), calls: () => calls };
}

it.each<[string, (client: Client) => Promise<unknown>]>([
  ["a stream of events", (client) => client.events.stream().next()],
  [
    "a stream of an operation",
    (client) => client.operations.watch("0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11").next(),
  ],
  ["a call", (client) => client.agents.list()],
])("%s ends with the reason at once", async (_what, ask) => {
  const { client, calls } = await startUntrusted();
  await expect(ask(client)).rejects.toMatchObject({
    status: 0,
    code: "UNAVAILABLE",
    message: expect.stringContaining(reason) as string,
  });
  expect(calls()).toBe(1);
});

it("a command that would wait for the server ends with the reason", async () => {
  const { url } = await startUntrusted();
  const watched = await runIn(temporaryFolder(), [
    "--url",
    url,
    "operations",
    "watch",
    "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11",
  ]);
  expect(watched).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(reason) as string });
});
