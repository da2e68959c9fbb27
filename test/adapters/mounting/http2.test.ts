/** The listener on a server of `node:http2`, where nothing announces a body. */
import { once } from "node:events";
import { connect, createServer, type ClientHttp2Session, type OutgoingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { createOrchestratorApp } from "fleetwright/h3";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { connectScriptedAgent } from "../../support/scripted-agent.ts";
import { mountPath } from "./hosts.ts";

/** A connection to an orchestrator over HTTP/2. */
async function begin({ orchestrator }: TestOrchestrator): Promise<ClientHttp2Session> {
  const server = createServer(createOrchestratorApp({ orchestrator, mountPath }).listener as never);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(async () => {
    session.destroy();
    await new Promise((closed) => server.close(closed));
  });
  return session;
}

async function call(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string) {
  const request = session.request({ "content-type": "application/json", ...headers });
  request.end(body);
  const [answer] = (await once(request, "response")) as [{ ":status": number }];
  const told = await text(request);
  return { status: answer[":status"], json: told === "" ? null : (JSON.parse(told) as unknown) };
}

it("a body that nobody announced says what it says", async () => {
  await using product = await createTestOrchestrator();
  const { token, caller } = await product.signIn("Admin", "ada");
  await using agent = await connectScriptedAgent(product);
  const session = await begin(product);
  const authorization = `Bearer ${token}`;
  const reject = { ":method": "POST", ":path": `${mountPath}/api/v1/pending-agents/reject`, authorization };
  const list = { ":path": `${mountPath}/api/v1/agents`, authorization };

  // Without a body, every agent that waits is rejected
  const rejected = await call(session, reject, JSON.stringify({ network: "203.0.113.0/24" }));
  expect(rejected).toEqual({ status: 200, json: { rejected: 0, remaining: 0 } });
  const { status } = await product.orchestrator.agents.get(caller, { node_id: agent.nodeId });
  expect(status).toBe("pending");
  expect(await call(session, list)).toMatchObject({ status: 200, json: { items: [{}] } });
  expect(await call(session, reject)).toEqual({ status: 200, json: { rejected: 1, remaining: 0 } });
});

it("a read whose sender keeps its side open is answered, and one over tRPC at once", async () => {
  await using product = await createTestOrchestrator();
  const { token } = await product.signIn("Viewer", "ada");
  const session = await begin(product);
  const get = async (path: string) => {
    const headers = { ":path": mountPath + path, authorization: `Bearer ${token}` };
    const request = session.request(headers, { endStream: false });
    const [answer] = (await once(request, "response")) as [OutgoingHttpHeaders];
    const json = JSON.parse(await text(request)) as unknown;
    request.close();
    return { status: answer[":status"], json };
  };

  const agents = { items: [], next_cursor: null };
  expect(await get("/api/v1/agents")).toEqual({ status: 200, json: agents });
  expect(await get("/trpc/agents.list?input=%7B%7D")).toEqual({
    status: 200,
    json: { result: { data: agents } },
  });
});

it("a call without a body is made, whether its end comes with its head or after", async () => {
  await using product = await createTestOrchestrator();
  const { token, caller } = await product.signIn("Admin", "ada");
  const session = await begin(product);
  const { modules } = product.orchestrator;
  for (const endStream of [true, false]) {
    await modules.upload(caller, { content: "name: one\nresources: []\n" });
    const path = `${mountPath}/api/v1/modules/one`;
    const headers = { ":method": "DELETE", ":path": path, authorization: `Bearer ${token}` };
    const request = session.request(headers, { endStream });
    if (!endStream) request.end();
    const [answer] = (await once(request, "response")) as [OutgoingHttpHeaders];
    expect([answer[":status"], await text(request)]).toEqual([204, ""]);
    await expect(modules.get(caller, { name: "one" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
});
