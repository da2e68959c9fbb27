import type { Bug } from "./bugs.ts";

/** Bugs at the edges, which no test noticed: what must go back, be counted as a whole, or is met by somebody else on its way. */
export const edgeBugs: readonly Bug[] = [
  {
    name: "the note of a session's last use brings it back where it was ended meanwhile",
    file: "lib/access/sessions.ts",
    from: `          value: { ...value, last_used_at: now },\n          expected: revision,\n`,
    to: `          value: { ...value, last_used_at: now },\n`,
    tests: ["test/access/removed-meanwhile.test.ts"],
  },
  {
    name: "silence of before a time in which a side did not read counts with that of after it",
    file: "lib/transport/heartbeat.ts",
    from: `this.#owner.isReading ? this.#silentBeats + 1 : 0;`,
    to: `this.#owner.isReading ? this.#silentBeats + 1 : this.#silentBeats;`,
    tests: ["test/transport/heartbeat.test.ts"],
  },
  {
    name: "the first event of all is the one that others wait with for half a minute",
    file: "lib/notifications/inbox/notifier.ts",
    from: `    this.#firstAt = null;\n    await this.#make();\n`,
    to: `    await this.#make();\n`,
    tests: ["test/notifications/inbox/notifications.test.ts"],
  },
  {
    name: "of a line of another process the last part alone is weighed",
    file: "lib/cluster/json-lines.ts",
    from: `    length += bytes.length - from;\n`,
    to: `    length = bytes.length - from;\n`,
    tests: ["test/cluster/json-lines.test.ts"],
  },
  {
    name: "a stream that is quiet is not ended when its reader goes away",
    file: "adapters/rest/event-stream.ts",
    from: `        ended.abort();\n`,
    tests: ["test/adapters/event-stream.test.ts"],
  },
  {
    name: "a server's key is pinned before it is proved",
    file: "adapters/client/sign-in.ts",
    from: `  if (!(await (signer.verify ?? verifySignature)(proof))) throw unproved(audience);\n  if (pinnedKey === null) await target.onKey(orchestratorKey);\n`,
    to: `  if (pinnedKey === null) await target.onKey(orchestratorKey);\n  if (!(await (signer.verify ?? verifySignature)(proof))) throw unproved(audience);\n`,
    tests: ["test/security/rogue-server.test.ts"],
  },
  {
    name: "a file that could not be put into its place stays beside it",
    file: "adapters/sync/write-folder.ts",
    from: `    await file.close();\n    await rm(aside, { force: true });\n`,
    to: `    await file.close();\n`,
    tests: ["test/adapters/sync/write-folder.test.ts"],
  },
  {
    name: "a key that is shortened is as it was when it was read, whatever its call came to since",
    file: "lib/idempotency/shorten-too-long.ts",
    from: `value: { ...value, expires_at }, expected: revision }`,
    to: `value: { ...value, expires_at } }`,
    tests: ["test/idempotency/wrong-clock.test.ts"],
  },
  {
    name: "an agent that has asked its server to wait does not hear the end of a connection that it closes",
    file: "lib/agent/websocket-dial.ts",
    from: `    this.#socket.close(code, reason);\n    // The other half of closing is a frame too: a paused socket would not see it.\n    this.resume();\n`,
    to: `    this.#socket.close(code, reason);\n`,
    tests: ["test/adapters/h3/agent-socket.test.ts"],
  },
  {
    name: "what operations told takes up its space for ever",
    file: "lib/operations/progress-feeds.ts",
    from: `    this.#feeds.delete(operationId);\n    this.#bytes -= feed.bytes;\n`,
    to: `    this.#feeds.delete(operationId);\n`,
    tests: ["test/operations/progress-feeds.test.ts"],
  },
  {
    name: "results of an operation are read until those of another come between",
    file: "lib/operations/operation-results.ts",
    from: `      if (value.operation_id !== operation_id) continue;\n      // Output comes after all results.\n`,
    to: `      if (value.operation_id !== operation_id) return;\n      // Output comes after all results.\n`,
    tests: ["test/operations/long-report.test.ts"],
  },
  {
    name: "as many names as an agent may forget at once are more than a message of them may hold",
    file: "lib/wire/message-limits.ts",
    from: `forget: { bytes: 2048 * kib, nodes: 1_100 }`,
    to: `forget: { bytes: 2048 * kib, nodes: 1_000 }`,
    tests: ["test/wire/hostile-messages.test.ts"],
  },
];
