import type { OperatorCaller } from "../callers/caller.ts";
import { systemCaller } from "../callers/caller.ts";
import type { Role } from "../callers/roles.ts";
import type { Signer } from "../crypto/crypto.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { nodeCrypto } from "../crypto/node-crypto.ts";
import type { OrchestratorEvent } from "../events.ts";
import type { Logger } from "../logger.ts";
import type { OrchestratorOptions } from "../options.ts";
import { Orchestrator } from "../orchestrator.ts";
import { MemoryStorage } from "../storage/memory-storage.ts";
import type { Storage } from "../storage/storage.ts";
import { MemoryTransport } from "../transport/memory-transport.ts";
import { FakeClock } from "./fake-clock.ts";
import { MemoryNetwork } from "./memory-network.ts";

/** A whole orchestrator in memory, with its parts at hand. */
export interface TestOrchestrator extends AsyncDisposable {
  orchestrator: Orchestrator;
  /** The one that was given; one that nothing goes by where that is no {@link FakeClock}. */
  clock: FakeClock;
  storage: Storage;
  /** The one that was given; one that nothing goes by where that is no {@link MemoryTransport}. */
  transport: MemoryTransport;
  /** Everything that happened since the start, in order. */
  events: OrchestratorEvent[];
  /** Errors that the orchestrator only logged. */
  loggedErrors: { message: string; fields: object | undefined }[];
  /** Adds an operator of a role and signs them in. */
  signIn(role: Role, username?: string): Promise<SignedIn>;
}

/** An operator who signed in. */
export interface SignedIn {
  caller: OperatorCaller;
  token: string;
  signer: Signer;
  operator_id: string;
}

/**
 * Starts an orchestrator in memory on a clock that moves only when told. Dispose of it at the end of the test.
 *
 * @param options - Anything of the orchestrator's own options, e.g. another storage.
 */
export async function createTestOrchestrator(
  options: Partial<OrchestratorOptions> = {},
): Promise<TestOrchestrator> {
  const clock = options.clock instanceof FakeClock ? options.clock : new FakeClock();
  const transport = options.transport instanceof MemoryTransport ? options.transport : new MemoryTransport();
  const storage = options.storage ?? new MemoryStorage({ clock });
  const loggedErrors: TestOrchestrator["loggedErrors"] = [];
  const logger = createErrorLogger(loggedErrors);
  const datagrams = new MemoryNetwork().machine("192.0.2.1");
  const agentUrl = "wss://fleet.example/agent/v1";
  const orchestrator = new Orchestrator({
    transport,
    clock,
    logger,
    datagrams,
    agentUrl,
    ...options,
    storage,
  });
  const events: OrchestratorEvent[] = [];
  orchestrator.listen((event) => events.push(event));
  await orchestrator.start();
  return {
    orchestrator,
    clock,
    storage,
    transport,
    events,
    loggedErrors,
    signIn: (role, username = role.toLowerCase()) => signIn(orchestrator, role, username),
    [Symbol.asyncDispose]: () => orchestrator.stop(),
  };
}

async function signIn(orchestrator: Orchestrator, role: Role, username: string): Promise<SignedIn> {
  const signer = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  const publicKey = toHex(signer.publicKey);
  const { operator_id } = await orchestrator.operators.add(systemCaller, {
    username,
    public_key: publicKey,
    role,
  });
  const anonymous = { kind: "anonymous" } as const;
  const challenge = await orchestrator.access.challenge(anonymous, { public_key: publicKey });
  const signature = toHex(signer.sign(toUtf8(challenge.message)));
  const { challenge_id } = challenge;
  const { token } = await orchestrator.access.verify(anonymous, { challenge_id, signature });
  const caller = await orchestrator.access.authenticate(token);
  if (caller.kind !== "operator") throw new Error("A token must give an operator.");
  return { caller, token, signer, operator_id };
}

function createErrorLogger(errors: TestOrchestrator["loggedErrors"]): Logger {
  const ignore = (): void => {};
  return {
    debug: ignore,
    info: ignore,
    warn: ignore,
    error: (message, fields) => void errors.push({ message, fields }),
  };
}
