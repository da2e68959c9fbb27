/** What the OpenAPI description says of each procedure beside its schemas. One that is missing here does not compile. */
import type { ErrorCode, Permission } from "fleetwright";

/** What is said of one procedure. */
export interface OperationReference {
  /** What a caller must know beyond the summary, in Markdown. */
  description: string;
  /** Codes that it may be refused with, beside those that follow from its method, path, input and permission. */
  problems?: readonly ErrorCode[];
}

/** What may go wrong when work is sent to one agent. */
const run: readonly ErrorCode[] = [
  "AGENT_NOT_APPROVED",
  "AGENT_OFFLINE",
  "AGENT_UNSUPPORTED",
  "EMPTY_DESIRED_STATE",
  "RESOURCE_CONFLICT",
  "TEMPLATE_FAILED",
];

/** By procedure. */
export const operationReference = {
  "status.get": {
    description:
      "Whether the service works and which versions of the agent protocol it speaks. Needs no session; who is signed in also sees each check.",
    problems: ["UNAUTHENTICATED", "STORAGE_CLOSED"],
  },
  "auth.challenge": {
    description:
      "The first step of signing in. Check that `message` names the origin that you called and the orchestrator's key that you know, sign it with the operator's Ed25519 key, without a line end, and send the signature to `POST /auth/verify` before `expires_at`. A key that nobody has gets a challenge, too, so that keys can't be probed. An `audience` that is not this service is refused: a server in between asked for it.",
    problems: ["KEY_REFUSED", "ORIGIN_REFUSED", "RATE_LIMITED"],
  },
  "auth.verify": {
    description:
      "The second step of signing in. Send the token that comes back as `Authorization: Bearer` with every other request. A challenge is good for one attempt.",
    problems: ["CHALLENGE_INVALID", "SIGNATURE_INVALID", "RATE_LIMITED"],
  },
  "auth.session": { description: "The operator behind the token, and when the session ends in any case." },
  "auth.signOut": { description: "The token is worthless from then on, and streams that it opened end." },
  "operators.list": { description: "Everybody who may sign in, in the order of their ids." },
  "operators.add": {
    description:
      "Registers the public key of somebody who may sign in from now on. The private key never leaves them.",
    problems: ["KEY_REFUSED", "ALREADY_EXISTS"],
  },
  "operators.get": { description: "One operator by id." },
  "operators.remove": {
    description: "Ends the operator's sessions and streams at once. The last Admin can't be removed.",
    problems: ["LAST_ADMIN"],
  },
  "operators.setRole": {
    description:
      "Ends the operator's sessions, so that the new role holds at once. The last Admin stays one.",
    problems: ["LAST_ADMIN"],
  },
  "agents.list": {
    description:
      "Agents that pass every filter. `connected` says whether an agent is connected at this moment; attributes come with the single agent only.",
  },
  "agents.get": { description: "One agent by id, with the attributes of its machine." },
  "agents.setStatus": {
    description:
      "Approve an agent before anything can be done with it. Rejecting one that is connected ends its connection. Both ways are open later; the same status again is refused.",
    problems: ["INVALID_TRANSITION", "ALREADY_EXISTS"],
  },
  "agents.rejectPending": {
    description:
      "Whoever can reach the server can make up agents: this rejects the first 1000 that pass every filter and ends their connections. Without a filter it is all that wait.",
  },
  "agents.remove": {
    description:
      "Only a rejected agent can be removed. Its tags, its state and its history go with it; the same key coming back is pending, with nothing inherited.",
    problems: ["INVALID_TRANSITION"],
  },
  "agents.attributes": {
    description:
      "What the agent tells of its machine: flat keys with dots, such as `os.family`. Selectors can use them.",
  },
  "tags.list": { description: "Every key and value in use, with the number of agents that have it." },
  "tags.replace": { description: "The agent has exactly these tags afterwards. At most 64." },
  "tags.set": { description: "Adds the tag or changes its value; the other tags stay." },
  "tags.remove": { description: "The other tags stay. A tag that is not there is `NOT_FOUND`." },
  "modules.list": { description: "Modules by name, each in its newest revision, without the content." },
  "modules.upload": {
    description:
      "A new name makes revision 1, a known one the next revision, and content that is there already changes nothing: 200 with the present revision. Every fault of the YAML is told with line and column, and nothing is stored then.",
    problems: ["MODULE_INVALID", "RESOURCE_CONFLICT"],
  },
  "modules.get": { description: "With the YAML as it was uploaded. `revision` reads an older one." },
  "modules.remove": {
    description: "Only a module that no assignment uses; `details.used_by` names those that do.",
    problems: ["IN_USE"],
  },
  "assignments.list": {
    description: "Assignments by name, each with how many approved agents it matches now.",
  },
  "assignments.create": {
    description:
      "Binds modules to a selector. Nothing changes on any machine before it is applied. `*` means every agent and must be written.",
    problems: ["NOT_FOUND", "SELECTOR_INVALID", "RESOURCE_CONFLICT", "TEMPLATE_FAILED", "ALREADY_EXISTS"],
  },
  "assignments.get": { description: "With the agents that the selector matches now." },
  "assignments.update": {
    description: "What is absent stays as it is. Machines change at the next apply.",
    problems: ["SELECTOR_INVALID", "RESOURCE_CONFLICT", "TEMPLATE_FAILED"],
  },
  "assignments.remove": {
    description: "What it brought to machines is no longer desired: the next apply there removes it.",
  },
  "assignments.applyNow": {
    description:
      "A rollout with one operation for each agent that matches at the time of the call, in batches where the assignment says so. Answers with 200 when all have ended within `wait_seconds`, else with 202.",
    problems: ["NO_MATCH"],
  },
  "assignments.plan": {
    description:
      "As apply, but nothing is changed: each operation tells what would change. Answers with 200 when all have ended within `wait_seconds`, else with 202.",
    problems: ["NO_MATCH"],
  },
  "rollouts.list": {
    description: "Assignments carried out, or being carried out, on the agents they matched.",
  },
  "rollouts.get": {
    description:
      "With its first 1,000 agents in the order in which they are begun; `truncated` says whether there are more.",
  },
  "rollouts.agents": {
    description:
      "Its agents in the order in which they are begun, with what came of each. A filtered page may be short.",
  },
  "rollouts.pause": {
    description: "What runs on a machine goes on there; no further agent is begun before it is resumed.",
    problems: ["INVALID_TRANSITION"],
  },
  "rollouts.resume": {
    description: "Goes on where it was paused.",
    problems: ["INVALID_TRANSITION"],
  },
  "rollouts.cancel": {
    description: "No further agent is begun, and operations in progress end after their present change.",
    problems: ["INVALID_TRANSITION"],
  },
  "state.applyNow": {
    description:
      "Brings the machine to its desired state: what its assignments say, and `modules` beside. One apply runs on an agent at a time; a second waits. Answers with 200 when it has ended within `wait_seconds`, else with 202.",
    problems: [...run, "PLAN_STALE", "INVALID_TRANSITION"],
  },
  "state.plan": {
    description:
      "Tells what an apply would change, and changes nothing. Answers with 200 when it has ended within `wait_seconds`, else with 202.",
    problems: run,
  },
  "state.believed": {
    description:
      "What was applied last, what the next apply removes and what is desired but not applied yet.",
  },
  "operations.list": { description: "Plans and applies of all agents that pass every filter." },
  "operations.listForAgent": { description: "Plans and applies of one agent that pass every filter." },
  "operations.get": { description: "What happened, or would happen, to each resource." },
  "operations.output": {
    description: "What scripts wrote to stdout and stderr, with secrets made unreadable.",
  },
  "operations.cancel": {
    description: "The change in progress is finished, never cut; what comes after it is skipped.",
    problems: ["INVALID_TRANSITION"],
  },
  "operations.watch": {
    description:
      "Server-sent events: the operation as it stands, each resource as it is done, what scripts print, and `ended` as the last. The schema is that of the data of each event. Who comes back is told all of it again.",
    problems: ["RATE_LIMITED"],
  },
  "drift.check": {
    description:
      "Compares the machine with the snapshot of its last successful apply, and changes nothing. Answers with 200 when it has ended within `wait_seconds`, else with 202.",
    problems: ["AGENT_NOT_APPROVED", "AGENT_OFFLINE", "NO_BASELINE"],
  },
  "drift.list": { description: "Checks of one agent, newest first." },
  "drift.latest": { description: "The newest check of one agent. `NOT_FOUND` where there was none." },
  "drift.get": { description: "One check, with what differs of each resource." },
  "events.stream": {
    description:
      "Server-sent events, each sent after it is on disk. The first item is a `position` or a `reset`: read what you show after it, and no change is missed. Come back with the header `Last-Event-ID`. The schema is that of the data of each event.",
    problems: ["RATE_LIMITED"],
  },
  "backups.create": {
    description:
      "A file for `fleetwright restore`, taken without a pause. It holds the orchestrator's private key: keep it as you keep that.",
    problems: ["NOT_FOUND"],
  },
  "restores.get": {
    description:
      "Whether the server waits after a restore for an operator's word, and what that would set going: operations, rollouts and schedules.",
  },
  "restores.resume": {
    description:
      "Lets a restored server go on: operations that waited may begin and rollouts go on. Due times that have passed are not carried out; `missed` names them.",
    problems: ["INVALID_TRANSITION", "REVISION_CONFLICT"],
  },
  "audit.list": {
    description:
      "Who did what, to what, when and from where. Each event is chained by its hash to the one before; with `order=asc` the chain can be checked page by page.",
  },
  "audit.verify": { description: "Says whether an event was changed or taken out, and which is the first." },
  "audit.prune": {
    description:
      "Removes the oldest events. What is left still verifies, and the pruning itself is in the log. A time in the future is refused. `dry_run=true` tells what would go, and `expected` has it refused where that is another number.",
    problems: ["STORAGE_CORRUPT", "COUNT_DIFFERS"],
  },
  "audit.getRetention": { description: "How many days events are kept; null keeps them for ever." },
  "audit.setRetention": { description: "Events that are older are pruned by themselves." },
} as const satisfies Record<Permission, OperationReference>;

/** What each group of operations is about. */
export const tagReference: Readonly<Record<string, string>> = {
  Status: "Is the service well, and what does it speak?",
  Access: "Signing in with an Ed25519 key, sessions, and operators with their roles.",
  Agents: "The machines of the fleet: approval, attributes and tags.",
  Modules: "What machines should be like: resources in YAML, in revisions.",
  Assignments: "Which modules are for which agents, and carrying that out on all of them.",
  Rollouts: "Assignments carried out on their agents, in batches: how they stand, and stopping them.",
  State: "Plan and apply of one agent, the operations that come of it, and drift.",
  Events: "What happens, as it happens.",
  Backup: "Everything in one file.",
  Audit: "Who did what, chained by hashes.",
};
