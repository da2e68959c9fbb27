/** What holds for the procedures of the product, whatever surface they are called over. */
import type { AnyProcedure } from "@trpc/server";
import { describe, expect, test } from "vitest";
import { FileStorage, OrchestratorError, type Caller, type Orchestrator } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { appRouter, createContextFactory } from "fleetwright/trpc";
import { prepareCall } from "../../../adapters/trpc/direct-call.ts";
import { toByteStream } from "../../../adapters/trpc/procedures/byte-stream.ts";
import type { ProcedureMeta } from "../../../adapters/trpc/trpc.ts";
import { openTerminal } from "../../support/open-terminal.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const procedures = Object.entries(appRouter._def.procedures as unknown as Record<string, AnyProcedure>);
const request = { request_id: "r", source_address: null, if_match: null };

function callerOf({ orchestrator }: TestOrchestrator, token: string | null, more: object = {}) {
  const authorization = token === null ? undefined : `Bearer ${token}`;
  const createContext = createContextFactory<Caller, Orchestrator>(orchestrator);
  return appRouter.createCaller(createContext({ ...request, ...more }, authorization));
}

async function* onePiece(fault: Error | null): AsyncGenerator<Uint8Array> {
  yield Uint8Array.of(7);
  if (fault !== null) throw fault;
}

test("every procedure with an answer is called directly, past tRPC's own chain", () => {
  const answering = procedures.filter(([, { _def }]) => _def.type !== "subscription");
  const chained = answering.filter(
    ([name, procedure]) => prepareCall(appRouter, name, procedure).schema === null,
  );
  expect(answering.length).toBeGreaterThan(100);
  expect(chained.map(([name]) => name)).toEqual([]);
});

test("whoever may make a call hears what is wrong with the form of its input, and nobody else", async () => {
  await using product = await createTestOrchestrator();
  const { token } = await product.signIn("Viewer");
  const input_fault = new OrchestratorError("VALIDATION_FAILED", { message: "The query has input twice." });
  const more = { input_fault };
  await expect(callerOf(product, token, more).agents.list({})).rejects.toMatchObject({ cause: input_fault });
  await expect(callerOf(product, token, more).modules.remove({ name: "a" })).rejects.toMatchObject({
    code: "FORBIDDEN",
  });
  await expect(callerOf(product, null, more).agents.list({})).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  expect(await callerOf(product, token, { input_fault: null }).agents.list({})).toMatchObject({ items: [] });
});

describe("bytes that are sent as they come", () => {
  test("are of a media type that their procedure names, and each that is named is answered with", async () => {
    await using scene = await openTerminal({}, { storage: new FileStorage({ folder: temporaryFolder() }) });
    const { session_id } = scene.opened;
    const { token } = await scene.test.signIn("Admin", "root");
    const caller = callerOf(scene.test, token);
    const answers: [name: string, answer: unknown][] = [
      ["terminals.transcript", await caller.terminals.transcript({ session_id })],
      ["terminals.transcript", await caller.terminals.transcript({ session_id, format: "text" })],
      ["metrics.prometheus", await caller.metrics.prometheus({})],
      ["backups.create", await caller.backups.create()],
    ];
    const sent: [string, string | null][] = [];
    for (const [name, answer] of answers) {
      const { headers, body } = answer as Response;
      sent.push([name, headers.get("content-type")]);
      await body?.cancel();
    }
    const named = procedures.flatMap(([name, { _def }]) =>
      ((_def.meta as ProcedureMeta).rest?.produces ?? []).map((type) => [name, type]),
    );
    expect(sent.toSorted()).toEqual(named.toSorted());
    expect(sent[1]).toEqual(["terminals.transcript", "text/plain; charset=utf-8"]);
  });

  test("are made when somebody reads them, and no more once nobody does", async () => {
    const told: string[] = [];
    async function* pieces(): AsyncGenerator<Uint8Array> {
      try {
        for (let at = 0; ; at += 1) {
          told.push(`made ${at}`);
          yield Uint8Array.of(at);
        }
      } finally {
        told.push("ended");
      }
    }
    const reader = toByteStream(pieces()).getReader();
    expect(told).toEqual([]);
    expect((await reader.read()).value).toEqual(Uint8Array.of(0));
    await reader.cancel();
    expect(told).toEqual(["made 0", "ended"]);
  });

  test("end where there are no more, and break off where they can't be made", async () => {
    const failure = new Error("The disk is gone.");
    const whole = toByteStream(onePiece(null)).getReader();
    expect((await whole.read()).value).toEqual(Uint8Array.of(7));
    expect((await whole.read()).done).toBe(true);
    const reader = toByteStream(onePiece(failure)).getReader();
    await reader.read();
    await expect(reader.read()).rejects.toBe(failure);
  });
});
