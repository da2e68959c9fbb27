/**
 * Requests that were begun in a session, and of which the rest comes once it has ended: they used to be done with the rights that
 * their caller had, so that who was removed could add themselves again.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { sendRaw } from "../support/raw-http.ts";
import { createScene } from "../support/rollout-scene.ts";
import { serve, type TestServer } from "../support/server.ts";

const body = JSON.stringify({ content: "name: web\nresources: []\n" });
const surfaces = { REST: "/api/v1/modules", tRPC: "/trpc/modules.upload" };

type SignedIn = Awaited<ReturnType<TestOrchestrator["signIn"]>>;
type End = (test: TestOrchestrator, signedIn: SignedIn) => Promise<unknown>;

const ends: Record<string, End> = {
  "is removed": ({ orchestrator }, { operator_id }) =>
    orchestrator.operators.remove(systemCaller, { operator_id }),
  "gets another role": ({ orchestrator }, { operator_id }) =>
    orchestrator.operators.setRole(systemCaller, { operator_id, role: "Viewer" }),
  "signs out": ({ orchestrator }, { caller }) => orchestrator.access.signOut(caller),
};

async function start(): Promise<{ test: TestOrchestrator; server: TestServer }> {
  const test = await createTestOrchestrator();
  onTestFinished(() => test[Symbol.asyncDispose]());
  const server = await serve(test.orchestrator);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { test, server };
}

/** Sends a request but for the end of its body, does something, and sends the rest. */
async function sendAround(
  { port }: TestServer,
  request: { path: string; token: string; more?: string },
  meanwhile: () => Promise<unknown>,
): Promise<string> {
  const { path, token, more = "" } = request;
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "Expect: 100-continue",
  ].join("\r\n");
  const connection = await sendRaw(port, `${head}\r\n${more}\r\n${body.slice(0, 10)}`);
  onTestFinished(() => void connection.socket.destroy());
  // The server reads the headers, and waits for the body.
  await connection.until(/^HTTP\/1\.1 100 /);
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  await meanwhile();
  connection.socket.write(body.slice(10));
  return connection.until(/HTTP\/1\.1 [2-5]\d\d [^]*\r\n\r\n/);
}

describe.each(Object.entries(surfaces))("over %s", (_, path) => {
  it.each(Object.entries(ends))(
    "a change whose caller %s before its end came is refused",
    async (_what, end) => {
      const { test, server } = await start();
      const signedIn = await test.signIn("Operator");
      const { token } = signedIn;
      const answer = await sendAround(server, { path, token }, () => end(test, signedIn));
      expect(answer).toMatch(/HTTP\/1\.1 401 /);
      expect((await test.orchestrator.modules.list(systemCaller)).items).toEqual([]);
    },
  );

  it("one with an idempotency key is refused, too", async () => {
    const { test, server } = await start();
    const signedIn = await test.signIn("Operator");
    const { token } = signedIn;
    const request = { path, token, more: "Idempotency-Key: once\r\n" };
    const answer = await sendAround(server, request, () => ends["is removed"]!(test, signedIn));
    expect(answer).toMatch(/HTTP\/1\.1 401 /);
    expect((await test.orchestrator.modules.list(systemCaller)).items).toEqual([]);
  });

  it("a change is made where others' sessions end meanwhile", async () => {
    const { test, server } = await start();
    const { token } = await test.signIn("Operator");
    const other = await test.signIn("Viewer");
    const answer = await sendAround(server, { path, token }, () => ends["is removed"]!(test, other));
    expect(answer).toMatch(/HTTP\/1\.1 20[01] /);
  });
});

it("who is removed while they wait for the end of a rollout is not told of it", async () => {
  await using scene = await createScene(1);
  const { test } = scene;
  const { orchestrator } = test;
  const { rollout_id } = await orchestrator.rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  const signedIn = await test.signIn("Viewer");
  const waiting = orchestrator.rollouts.get(signedIn.caller, { rollout_id, wait_seconds: 60 });
  waiting.catch(() => {});
  await ends["is removed"]!(test, signedIn);
  await orchestrator.rollouts.cancel(systemCaller, { rollout_id });
  await test.clock.advance(60_000);
  await expect(waiting).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});
