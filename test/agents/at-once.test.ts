/** Several calls at once on the same thing: each is carried out, and none is refused because of another. */
import { describe, expect, it } from "vitest";
import { MemoryTransport, nodeCrypto, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { toHex, toUtf8 } from "../../lib/crypto/encoding.ts";
import type { Orchestrator } from "../../lib/orchestrator.ts";
import type { TransportContext, TransportHandlers } from "../../lib/transport/transport.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

function newKey(): { signer: ReturnType<typeof nodeCrypto.createSigner>; public_key: string } {
  const signer = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  return { signer, public_key: toHex(signer.publicKey) };
}

/** Runs something while an agent is being admitted, after its status was read. */
class HookedTransport extends MemoryTransport {
  whileAdmitting: (nodeId: string) => Promise<unknown> = () => Promise.resolve();

  override start(context: TransportContext, handlers: TransportHandlers): Promise<void> {
    return super.start(context, {
      ...handlers,
      admit: async (introduction) => {
        const admission = await handlers.admit(introduction);
        await this.whileAdmitting(introduction.node_id);
        return admission;
      },
    });
  }
}

const approve = (orchestrator: Orchestrator, node_id: string) =>
  orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });

describe("at once", () => {
  it("agents of one hostname are approved, each under a name of its own", async () => {
    await using test = await createTestOrchestrator();
    const agents = await Promise.all(times(12, () => connectScriptedAgent(test)));
    const approved = await Promise.all(agents.map(({ nodeId }) => approve(test.orchestrator, nodeId)));
    expect(new Set(approved.map(({ name }) => name)).size).toBe(12);
    await Promise.all(agents.map(({ link }) => link.stop()));
  });

  it("an agent is approved while it is being admitted, and gets work without coming again", async () => {
    const transport = new HookedTransport();
    await using test = await createTestOrchestrator({ transport });
    Object.assign(test, { transport });
    transport.whileAdmitting = (nodeId) => approve(test.orchestrator, nodeId);
    await using agent = await connectScriptedAgent(test);
    const content = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";
    await test.orchestrator.modules.upload(systemCaller, { content });
    const input = { node_id: agent.nodeId, modules: ["motd"], wait_seconds: 0 };
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, input);
    expect(await agent.next("apply")).toMatchObject({ operation_id });
  });

  it("thirty tags are set on one agent while it is approved", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    const { agents } = test.orchestrator;
    const node_id = agent.nodeId;
    await Promise.all([
      ...times(30, (at) => agents.tags.set(systemCaller, { node_id, key: `k${at}`, value: "v" })),
      approve(test.orchestrator, node_id),
    ]);
    const { tags, status } = await agents.get(systemCaller, { node_id });
    expect([Object.keys(tags).length, status]).toEqual([30, "approved"]);
  });

  it("operators are added, the first Admins among them", async () => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    await Promise.all(
      times(10, (at) =>
        operators.add(systemCaller, {
          username: `user-${at}`,
          public_key: newKey().public_key,
          role: at % 2 === 0 ? "Admin" : "Viewer",
        }),
      ),
    );
    expect((await operators.list(systemCaller)).items).toHaveLength(10);
  });

  it("one operator signs in several times", async () => {
    await using test = await createTestOrchestrator();
    const { operators, access } = test.orchestrator;
    const { signer, public_key } = newKey();
    await operators.add(systemCaller, { username: "ada", public_key });
    const anonymous = { kind: "anonymous" } as const;
    const sessions = await Promise.all(
      times(8, async () => {
        const { challenge_id, message } = await access.challenge(anonymous, { public_key });
        return access.verify(anonymous, { challenge_id, signature: toHex(signer.sign(toUtf8(message))) });
      }),
    );
    expect(new Set(sessions.map(({ token }) => token)).size).toBe(8);
  });

  it("the last two Admins are removed: one stays", async () => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    const admins = await Promise.all(
      times(2, (at) =>
        operators.add(systemCaller, {
          username: `a${at}`,
          public_key: newKey().public_key,
          role: "Admin",
        }),
      ),
    );
    const removals = await Promise.allSettled(
      admins.map(({ operator_id }) => operators.remove(systemCaller, { operator_id })),
    );
    expect(removals.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(removals.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "LAST_ADMIN" },
    });
  });
});
