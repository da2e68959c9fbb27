/** Bugs of the surfaces: the client, the command line, REST, tRPC and the server. */
import type { Bug } from "./bugs.ts";

const client = "adapters/client/client.ts";
const clientTests = ["test/adapters/client/client.test.ts"];
const call = "adapters/cli/call.ts";
const sessionTests = ["test/adapters/cli/session.test.ts"];
const wait = "adapters/cli/wait.ts";
const waitTests = ["test/adapters/cli/wait.test.ts"];
const ownMetrics = "adapters/h3/own-metrics.ts";
const ownMetricsTests = ["test/adapters/h3/own-metrics.test.ts"];
const productTests = ["test/adapters/trpc/products.test.ts"];

export const surfaceBugs: readonly Bug[] = [
  {
    name: "an apply that nothing binds to a plan forgets which modules were named",
    file: "adapters/cli/run-one.ts",
    from: `("plan_id" in agreed ? others : options)`,
    to: `(others)`,
    tests: ["test/adapters/cli/questions.test.ts"],
  },
  {
    name: "a client signs in again although another call of it just did",
    file: client,
    from: `if (token === used) await unlessAborted(signIn(), extras.signal);`,
    to: `await unlessAborted(signIn(), extras.signal);`,
    tests: clientTests,
  },
  {
    name: "a client never signs in again after a sign-in that failed",
    file: client,
    from: `openOwnSession().finally(() => {\n      signingIn = null;\n    })`,
    to: `openOwnSession().then((session) => {\n      signingIn = null;\n      return session;\n    })`,
    tests: clientTests,
  },
  {
    name: "a client forgets to which orchestrator it signed in first",
    file: client,
    from: `    pinnedKey = opened.orchestratorKey;\n`,
    tests: clientTests,
  },
  {
    name: "the stream of an operation goes on after its signal",
    file: "adapters/client/streams.ts",
    from: `/watch\`, {}, left)`,
    to: `/watch\`, {}, void left)`,
    tests: ["test/adapters/client/event-stream.test.ts"],
  },
  {
    name: "a command takes a sign-out in another shell back",
    file: call,
    from: `      if (before.token !== undefined && now.token === undefined) return;\n`,
    tests: sessionTests,
  },
  {
    name: "a command takes a sign-in elsewhere back",
    file: call,
    from: `      if (now?.url !== before.url || now.key !== before.key) return;\n`,
    tests: sessionTests,
  },
  {
    name: "a command that waits for a rollout asks every two seconds",
    file: wait,
    from: `    wait_seconds = longestWaitSeconds;\n`,
    tests: waitTests,
  },
  {
    name: "a command says again and again that agents are held",
    file: wait,
    from: `      saysHeld = true;\n`,
    tests: waitTests,
  },
  {
    name: "a command takes a rollout that stops for one that has ended",
    file: wait,
    from: ` || status === "stopping"`,
    tests: waitTests,
  },
  {
    name: "a preference that was applied under a key is not told",
    file: "adapters/rest/handler.ts",
    from: `return replies.success({ route, output, applied, requestId });`,
    to: `return replies.success({ route, output, applied: null, requestId });`,
    tests: ["test/adapters/conventions.test.ts"],
  },
  {
    name: "a stream's own caching is overruled",
    file: "adapters/rest/replies.ts",
    from: `&& !headers.has(name)) headers.set`,
    to: `) headers.set`,
    tests: ["test/adapters/rest/handler.test.ts"],
  },
  {
    name: "the processor time of the server is counted with each look",
    file: ownMetrics,
    from: `      cpuSeconds = now;\n`,
    tests: ownMetricsTests,
  },
  {
    name: "every operation is counted as one that succeeded",
    file: ownMetrics,
    from: `operations.inc({ ...ended })`,
    to: `operations.inc({ ...ended, status: "succeeded" })`,
    tests: ownMetricsTests,
  },
  {
    name: "a server that can't listen keeps the port of its figures",
    file: "adapters/h3/server.ts",
    from: `    await metrics.stop();\n    await orchestrator.stop();\n    throw error;`,
    to: `    await orchestrator.stop();\n    throw error;`,
    tests: ownMetricsTests,
  },
  {
    name: "an agent's file of another length stays open",
    file: "adapters/h3/downloads.ts",
    from: `  await handle.close();\n  throw new OrchestratorError("UNAVAILABLE", {\n    message: "The agent is not`,
    to: `  throw new OrchestratorError("UNAVAILABLE", {\n    message: "The agent is not`,
    tests: ["test/adapters/h3/downloads.test.ts"],
  },
  {
    name: "one request fewer than promised may wait on a connection",
    file: "adapters/h3/turns.ts",
    from: `> mostAhead) socket.destroy()`,
    to: `>= mostAhead) socket.destroy()`,
    tests: ["test/adapters/h3/connections.test.ts"],
  },
  {
    name: "a transcript does not say what it is",
    file: "adapters/trpc/procedures/terminals.ts",
    from: `toByteStream(pieces), { headers: { "content-type": type } })`,
    to: `toByteStream(pieces))`,
    tests: productTests,
  },
  {
    name: "bytes that nobody reads any more are read on",
    file: "adapters/trpc/procedures/byte-stream.ts",
    from: `        await iterator.return?.();\n`,
    tests: productTests,
  },
  {
    name: "a key answers a call with another If-Match",
    file: "adapters/trpc/context.ts",
    from: "const keyed = { key, permission: call.name, input: call.input, ifMatch };",
    to: "const keyed = { key, permission: call.name, input: call.input };",
    tests: ["test/adapters/conventions.test.ts"],
  },
];
