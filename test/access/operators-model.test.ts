/** Whatever becomes of operators, in any order: who is Admin, whose each name is, and which sessions live is what a model of a few lines says. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isOrchestratorError, nodeCrypto, systemCaller, toHex, type OperatorCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { OperatorDocument, SessionDocument } from "../../lib/access/documents.ts";
import { nodeIdOf } from "../../lib/crypto/encoding.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { eachDocument } from "../../lib/storage/each-document.ts";

const minuteMs = 60_000;
const idleMs = 60 * minuteMs;
const longestMs = 12 * idleMs;
const anonymous = { kind: "anonymous" } as const;

const signers = [1, 2, 3, 4].map((n) => nodeCrypto.createSigner(new Uint8Array(32).fill(n)));
const who = fc.nat({ max: signers.length - 1 });
const role = fc.constantFrom("Admin", "Operator", "Viewer" as const);
/** Names of which two differ in their case alone. */
const username = fc.constantFrom("Ada", "ada", "grace", "Linus");
const session = fc.nat({ max: 7 });

const step = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), who, username, role }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("setRole" as const), who, role }) },
  fc.record({ kind: fc.constant("remove" as const), who }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("signIn" as const), who }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("call" as const), session }) },
  fc.record({ kind: fc.constant("signOut" as const), session }),
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), minutes: fc.constantFrom(0.5, 1, 20, 59) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Made> ? Made : never;

interface Session {
  token: string;
  caller: OperatorCaller;
  begun: number;
  used: number;
  hasEnded: boolean;
}

class Model {
  readonly test: TestOrchestrator;
  readonly operators = new Map<string, { username: string; role: string }>();
  readonly sessions: Session[] = [];
  #passed = 0;

  constructor(test: TestOrchestrator) {
    this.test = test;
  }

  async take(step: Step): Promise<void> {
    const { access, operators } = this.test.orchestrator;
    switch (step.kind) {
      case "add": {
        const { username, role } = step;
        const public_key = toHex(signers[step.who]!.publicKey);
        const added = await operators.add(systemCaller, { username, public_key, role });
        this.operators.set(added.operator_id, { username, role });
        return;
      }
      case "setRole": {
        const { operator_id } = this.#of(step.who);
        const before = this.operators.get(operator_id)?.role;
        await operators.setRole(systemCaller, { operator_id, role: step.role });
        this.operators.get(operator_id)!.role = step.role;
        if (before !== step.role) this.#end(operator_id);
        return;
      }
      case "remove": {
        const { operator_id } = this.#of(step.who);
        await operators.remove(systemCaller, { operator_id });
        this.operators.delete(operator_id);
        return this.#end(operator_id);
      }
      case "signIn":
        return this.#signIn(step.who);
      case "call": {
        const called = this.sessions[step.session];
        if (called) await this.#call(called);
        return;
      }
      case "signOut": {
        const left = this.sessions[step.session];
        if (!left || !this.isLive(left)) return;
        await access.signOut(left.caller);
        left.hasEnded = true;
        return;
      }
      case "wait":
        this.#passed += step.minutes * minuteMs;
        return this.test.clock.advance(step.minutes * minuteMs);
    }
  }

  #of(who: number): { operator_id: string; public_key: string } {
    const public_key = toHex(signers[who]!.publicKey);
    return { operator_id: nodeIdOf(signers[who]!.publicKey, nodeCrypto), public_key };
  }

  async #signIn(who: number): Promise<void> {
    const { access } = this.test.orchestrator;
    const { public_key } = this.#of(who);
    const { challenge_id, message } = await access.challenge(anonymous, { public_key });
    const signature = toHex(signers[who]!.sign(new TextEncoder().encode(message)));
    const { token } = await access.verify(anonymous, { challenge_id, signature });
    const caller = await access.authenticate(token);
    if (caller.kind !== "operator") throw new Error("A token must give an operator.");
    this.sessions.push({ token, caller, begun: this.#passed, used: this.#passed, hasEnded: false });
  }

  async #call(session: Session): Promise<void> {
    const isLive = this.isLive(session);
    const called = await this.test.orchestrator.access.authenticate(session.token).catch(codeOf);
    const operator = this.operators.get(session.caller.operator_id);
    const expected = isLive ? operator?.role : "UNAUTHENTICATED";
    const answer = typeof called === "string" || called.kind === "anonymous" ? called : called.role;
    if (answer !== expected) throw new Error(`The answer is ${JSON.stringify(answer)}, not ${expected}.`);
    if (isLive && this.#passed - session.used >= minuteMs) session.used = this.#passed;
  }

  isLive({ begun, used, hasEnded }: Session): boolean {
    return !hasEnded && this.#passed - used < idleMs && this.#passed - begun < longestMs;
  }

  #end(operatorId: string): void {
    for (const session of this.sessions)
      if (session.caller.operator_id === operatorId) session.hasEnded = true;
  }
}

function codeOf(error: unknown): string {
  if (isOrchestratorError(error)) return error.code;
  throw error;
}

async function all<T>(
  { storage }: TestOrchestrator,
  collection: string,
): Promise<Record<string, Readonly<T>>> {
  const found: Record<string, Readonly<T>> = {};
  for await (const { key, value } of eachDocument<T>(storage, collection)) found[key] = value;
  return found;
}

/** What is stored and answered agrees with the model. */
async function requireAgreement(model: Model): Promise<void> {
  const { storage, orchestrator } = model.test;
  const admins = await storage.get<{ operator_ids: string[] }>("admins", "all");
  const isAdmin = ([, { role }]: [string, { role: string }]): boolean => role === "Admin";
  expect((admins?.value.operator_ids ?? []).toSorted()).toEqual(
    [...model.operators]
      .filter(isAdmin)
      .map(([id]) => id)
      .sort(),
  );
  const names = [...model.operators].map(([operator_id, { username }]) => [
    username.toLowerCase(),
    { operator_id },
  ]);
  expect(await all(model.test, "operator_names")).toEqual(Object.fromEntries(names));
  expect(
    Object.values(await all<OperatorDocument>(model.test, "operators")).map(({ username, role }) => [
      username,
      role,
    ]),
  ).toEqual(
    [...model.operators]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { username, role }]) => [username, role]),
  );
  const stored = await all<SessionDocument>(model.test, "sessions");
  for (const session of model.sessions) {
    const isLive = model.isLive(session);
    expect(await servicesOf(orchestrator).access.isSignedIn(session.caller)).toBe(isLive);
    if (session.hasEnded) expect(stored).not.toHaveProperty(session.caller.session_id);
    if (!isLive) continue;
    const { created_at, last_used_at } = stored[session.caller.session_id]!;
    expect(last_used_at - created_at).toBe(session.used - session.begun);
  }
}

test("Admins, names and sessions are those of the operators after each step", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 60 }), async (steps) => {
      await using scene = await createTestOrchestrator();
      const model = new Model(scene);
      for (const made of steps) {
        // What is refused leaves all as it was.
        await model.take(made).catch((error: unknown) => {
          if (!isOrchestratorError(error) || error.code === "INTERNAL") throw error;
        });
        await requireAgreement(model);
      }
    }),
    { numRuns: 60, seed: 1 },
  );
});
