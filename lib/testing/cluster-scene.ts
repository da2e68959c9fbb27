/** Members of a cluster under test, started, and what the cases of its suite do with them. */
import type { CallMethod, Cluster, ClusterHandlers, Pipe, PipeMethod } from "../cluster/cluster.ts";
import type { Crypto } from "../crypto/crypto.ts";
import { isOrchestratorError, type ErrorCode } from "../errors.ts";
import { silentLogger } from "../logger.ts";
import { assertThat } from "./expect.ts";
import type { FakeClock } from "./fake-clock.ts";

/** What a conformance suite asks of a cluster under test. */
export interface ClusterUnderTest {
  /** Members that reach each other, none of them started: two, or one that is its own cluster. */
  members: readonly Cluster[];
  /** The time that members are started with. */
  clock: FakeClock;
  /** Loses all that two members send each other from now on, and tells neither. Needed by cases that need "cut". */
  cut?(one: Cluster, other: Cluster): void;
  /** Takes a member off from what joins them all. Needed by cases that need "isolate", as {@link rejoin} is. */
  isolate?(member: Cluster): Promise<void>;
  /** Ends what {@link isolate} began. */
  rejoin?(member: Cluster): Promise<void>;
  /** Gives back what was taken, after every member was stopped. */
  dispose(): Promise<void>;
}

/** Makes a cluster for a case. */
export type CreateClusterUnderTest = () => Promise<ClusterUnderTest>;

/** Two members that are started, or one in both places. */
export interface ClusterScene {
  subject: ClusterUnderTest;
  clock: FakeClock;
  /** Who asks. */
  here: Cluster;
  /** Who is asked; `here` itself where there is one member. */
  there: Cluster;
  /** What each is asked for, by both; may be added to at any time. */
  calls: Map<string, CallMethod>;
  pipes: Map<string, PipeMethod>;
  /** What was rung, as `[who rang, who heard, position]`. */
  rung: [from: string, heardBy: string, position: number][];
  start(member: Cluster): Promise<void>;
}

/** One case before it knows on which cluster it runs. */
export interface ClusterCase {
  promise: number;
  name: string;
  needs?: "peers" | "cut" | "isolate";
  test(scene: ClusterScene): Promise<void>;
}

/** Runs a test with started members, and stops them afterwards. */
export async function withCluster(
  create: CreateClusterUnderTest,
  crypto: Crypto,
  test: (scene: ClusterScene) => Promise<void>,
): Promise<void> {
  const subject = await create();
  const { clock, members } = subject;
  const calls = new Map<string, CallMethod>();
  const pipes = new Map<string, PipeMethod>();
  const rung: ClusterScene["rung"] = [];
  const start = (member: Cluster): Promise<void> => {
    const handlers: ClusterHandlers = {
      calls,
      pipes,
      rang: (from, position) => void rung.push([from, member.name, position]),
    };
    return member.start({ clock, crypto, logger: silentLogger }, handlers);
  };
  const here = members[0]!;
  const there = members[1] ?? here;
  try {
    for (const member of members) await start(member);
    await test({ subject, clock, here, there, calls, pipes, rung, start });
  } finally {
    await Promise.all(members.map((member) => member.stop()));
    await subject.dispose();
  }
}

/** The code of the error that a promise rejects with, where time passes; fails where it does not reject within so many milliseconds. */
export async function codeWithin(
  clock: FakeClock,
  mostMs: number,
  promise: Promise<unknown>,
): Promise<ErrorCode> {
  let code: ErrorCode | null = null;
  let fault: unknown = null;
  const settled = promise.then(
    () => (fault = new Error("The promise is not kept: it resolved.")),
    (error: unknown) => (isOrchestratorError(error) ? (code = error.code) : (fault = error)),
  );
  for (let passed = 0; code === null && fault === null && passed <= mostMs; passed += 100)
    await clock.advance(100);
  if (code === null && fault === null) fault = new Error(`Nothing was told within ${mostMs} ms.`);
  if (fault !== null) throw fault;
  await settled;
  return code!;
}

/** Reads a pipe to its end. */
export async function readAll(pipe: Pipe): Promise<number[]> {
  const bytes: number[] = [];
  for (let next = await pipe.read(); next !== null; next = await pipe.read())
    for (const byte of next) bytes.push(byte);
  return bytes;
}

/** Opens a pipe, and gives both its sides and how its method is ended. */
export async function bothSides(
  scene: ClusterScene,
  signal?: AbortSignal,
): Promise<{ near: Pipe; far: Pipe; leave: (error?: unknown) => void }> {
  let leave: (error?: unknown) => void = () => {};
  const left = new Promise<void>((resolve, reject) => {
    leave = (error) => (error === undefined ? resolve() : reject(error));
  });
  let far: Pipe | null = null;
  scene.pipes.set("both", async ({ pipe }) => {
    far = pipe;
    // A side that fails ends its method, as every method that reads or writes.
    await Promise.race([
      left,
      new Promise<void>((resolve) => pipe.signal.addEventListener("abort", () => resolve())),
    ]);
  });
  const near = await scene.here.open(scene.there.name, "both", { body: {}, ...(signal && { signal }) });
  assertThat(far !== null, "open resolved before the method had begun");
  return { near, far, leave };
}
