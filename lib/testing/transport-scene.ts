/** An orchestrator's side without an orchestrator: starts a transport, records what it reports, and brings agents. */
import { toTimestamp } from "../clock.ts";
import type { Crypto } from "../crypto/crypto.ts";
import { isOrchestratorError, type ErrorCode } from "../errors.ts";
import { silentLogger } from "../logger.ts";
import type { FrameSocket } from "../transport/socket.ts";
import type { Admission, AgentIntroduction, Transport, TransportHandlers } from "../transport/transport.ts";
import type { MessageHead } from "../wire/message-head.ts";
import type { AgentMessage, OrchestratorMessage } from "../wire/messages.ts";
import { EventLog } from "./event-log.ts";
import { FakeClock } from "./fake-clock.ts";
import { TestAgent } from "./test-agent.ts";

/** What a conformance suite asks of a transport under test. */
export interface TransportUnderTest {
  /** Not started yet. */
  transport: Transport;
  /** Opens a connection as an agent would; called after `start`. */
  connect(): Promise<FrameSocket>;
  /** Gives back what was taken, after `transport.stop`. */
  dispose(): Promise<void>;
}

/** Makes a transport with the limits that the suite can reach. */
export type CreateTransportUnderTest = (limits: {
  sendLimitBytes: number;
  maxPendingAgents: number;
}) => Promise<TransportUnderTest>;

/** What a transport reported. */
export type TransportEvent =
  | { kind: "admit"; introduction: AgentIntroduction }
  | { kind: "connected"; nodeId: string; status: Admission["status"] }
  | { kind: "message"; nodeId: string; message: AgentMessage }
  | { kind: "stream"; nodeId: string; streamId: string; data: Uint8Array }
  | { kind: "disconnected"; nodeId: string; reason: string }
  | { kind: "refused"; nodeId: string | null; code: string; connectedAddress?: string | null };

/** What the orchestrator does when it is told; each by default nothing. */
export interface SceneBehaviour {
  admit?: () => Promise<Admission>;
  connected?: (nodeId: string) => Promise<void>;
  isWanted?: (head: MessageHead) => Promise<boolean>;
  message?: (nodeId: string, message: AgentMessage) => Promise<void>;
  stream?: (nodeId: string) => Promise<void>;
}

/** A started transport and everything around it. */
export interface TransportScene {
  transport: Transport;
  clock: FakeClock;
  heard: EventLog<TransportEvent>;
  /** What the orchestrator does when it is told; may be changed at any time. */
  behaviour: SceneBehaviour;
  /** Connects an agent that has not said anything yet. Agents with one number are clones of each other. */
  agent(number: number): Promise<TestAgent>;
}

/** One case before it knows which transport it runs on. */
export interface SceneCase {
  promise: number;
  name: string;
  test(scene: TransportScene): Promise<void>;
}

/** Limits that are reached fast. */
export const sceneLimits = { sendLimitBytes: 1024 * 1024, maxPendingAgents: 2 };

/** Runs a test on a started transport, and stops it afterwards. */
export async function withTransport(
  create: CreateTransportUnderTest,
  crypto: Crypto,
  test: (scene: TransportScene) => Promise<void>,
): Promise<void> {
  const { transport, connect, dispose } = await create(sceneLimits);
  const clock = new FakeClock();
  const heard = new EventLog<TransportEvent>();
  const behaviour: SceneBehaviour = {};
  const signer = crypto.createSigner(new Uint8Array(32).fill(200));
  const orchestratorTime = (): string => toTimestamp(clock.now());
  const context = { clock, crypto, logger: silentLogger, signer, orchestratorTime };
  await transport.start(context, recordingHandlers(heard, behaviour));
  try {
    await test({
      transport,
      clock,
      heard,
      behaviour,
      agent: async (number) =>
        new TestAgent(await connect(), { crypto, seed: new Uint8Array(32).fill(number) }),
    });
  } finally {
    await transport.stop();
    await dispose();
  }
}

function recordingHandlers(heard: EventLog<TransportEvent>, behaviour: SceneBehaviour): TransportHandlers {
  return {
    async admit(introduction) {
      heard.add({ kind: "admit", introduction });
      return (await behaviour.admit?.()) ?? { status: "approved" };
    },
    async connected(introduction, { status }) {
      await behaviour.connected?.(introduction.node_id);
      heard.add({ kind: "connected", nodeId: introduction.node_id, status });
    },
    isWanted: async (_, head) => (await behaviour.isWanted?.(head)) ?? true,
    async message(nodeId, message) {
      heard.add({ kind: "message", nodeId, message });
      await behaviour.message?.(nodeId, message);
    },
    async stream(nodeId, streamId, data) {
      heard.add({ kind: "stream", nodeId, streamId, data });
      await behaviour.stream?.(nodeId);
    },
    disconnected: (nodeId, reason) => heard.add({ kind: "disconnected", nodeId, reason }),
    refused: ({ node_id: nodeId, code, connected_address: connectedAddress }) =>
      heard.add({
        kind: "refused",
        nodeId,
        code,
        ...(connectedAddress !== undefined && { connectedAddress }),
      }),
  };
}

/** Throws what was seen where a promise is not kept. */
export function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(`The promise is not kept: ${otherwise}.`);
}

/** Whether two values are the same JSON. */
export function equal(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The code of the error that a promise rejects with; null where it resolves. */
export async function codeOf(promise: Promise<unknown>): Promise<ErrorCode | null> {
  try {
    await promise;
    return null;
  } catch (error) {
    if (isOrchestratorError(error)) return error.code;
    throw error;
  }
}

const id = "01890000-0000-7000-8000-000000000001";

/** The parts that every command has. */
export const exampleCommand = { id, not_after: "2030-01-01T00:05:00.000Z" };
/** The id of a stream. */
export const exampleStreamId = id;
/** A command that asks for nothing more. */
export const refreshCommand: OrchestratorMessage = { type: "attributes.refresh", ...exampleCommand };

/** A message of an agent that is known by its text. */
export function logOf(message: string): AgentMessage {
  return { type: "log", level: "info", message };
}
