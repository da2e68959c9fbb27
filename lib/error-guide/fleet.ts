/** Explains the errors of what is kept, and agents. */
import type { ErrorExplanation } from "./explanation.ts";

export const fleetErrors = {
  NOT_FOUND: {
    meaning: "There is no such thing.",
    cause:
      "The id or name is wrong, it was removed, or nothing is served at this path: paths are exact, in lower case and without a slash at the end.",
    advice: "List what is there. After a removal, treat it as gone.",
  },
  ALREADY_EXISTS: {
    meaning: "One with this name or key exists.",
    cause: "Names and keys are unique. Another caller may have been first.",
    advice: "Choose another name, or update the one that is there.",
  },
  REVISION_CONFLICT: {
    meaning: "It was changed by someone else between reading and writing.",
    cause: "Two callers changed the same thing at the same moment.",
    advice: "Read it again, decide again and repeat the change.",
  },
  PRECONDITION_FAILED: {
    meaning: "It is not the version that `If-Match` names.",
    cause:
      "It was changed since the `ETag` was read, or the change takes no such condition: no change takes `If-None-Match`.",
    advice: "Read it again, look at the difference, and send the new `ETag`.",
  },
  IDEMPOTENCY_KEY_REUSED: {
    meaning: "The idempotency key was used for another input.",
    cause:
      "Within 24 hours the same operator called the same thing with this `Idempotency-Key` and another path, body or `If-Match`.",
    advice: "Make a new key for each new call; keep it only for sending the same call again.",
  },
  IDEMPOTENCY_ANSWER_UNKNOWN: {
    meaning: "A call with this idempotency key was begun, and its answer is not known.",
    cause:
      "The process ended in the middle of the first call, the call failed unexpectedly, or its answer was too large to keep (64 KiB, and 8 MiB for all of an operator). It is not made again, since it may have taken effect.",
    advice: "Read what the call changes. If it did not take effect, send it with a new key.",
  },
  COUNT_DIFFERS: {
    meaning: "The call named a number of things, and it concerns another number of them.",
    cause:
      "A prune of the audit log with `expected` would remove more or fewer events: the time is not the one that was meant, or others were removed meanwhile.",
    advice:
      "Nothing was done. `details.actual` is the number that there is: look what these are before you send it.",
  },
  IN_USE: {
    meaning: "It can't be removed because something still refers to it.",
    cause: "A module is named by an assignment, for example.",
    advice: "`details` names who uses it. Remove or change those first.",
  },
  LAST_ADMIN: {
    meaning: "The last Admin can't be removed or demoted.",
    cause: "Nobody could add operators afterwards.",
    advice: "Make another operator Admin first.",
  },
  INVALID_TRANSITION: {
    meaning: "The present status does not allow this change.",
    cause:
      "For example removing an agent that is not rejected, approving one that is approved, or naming one anew.",
    advice: "Read the status and take the steps between.",
  },
  NO_MATCH: {
    meaning: "The selector matches no agent.",
    cause: "No approved agent has these tags or attributes now.",
    advice: "Look at the assignment's matches and at the tags of the agents.",
  },
  NO_METRICS: {
    meaning: "The agent has measured nothing yet, or nothing that is still kept.",
    cause:
      "It was approved a few seconds ago, has not been connected for a month, is of a version that measures nothing, or measures a machine that nobody says how to measure.",
    advice: "Look whether it is connected and approved, and try again after the interval of its samples.",
  },
  NO_BASELINE: {
    meaning: "The agent has no successful apply to compare with.",
    cause: "Drift is the difference to the last successful apply, and there was none yet.",
    advice: "Apply first.",
  },
  RESOURCE_CONFLICT: {
    meaning: "Two modules describe the same thing differently.",
    cause:
      "Two of the modules for one agent have a resource of the same type and identity with different properties: modules of one assignment, of two that match the same agent, or of a call; see [modules](modules.md#conflicts). Or they undo each other's changes of a text, as a `file` and a `line` that its content lacks, also within one module. Or a package would go for one of them that another wants there.",
    advice:
      "`details` names both resources, and both assignments where the modules come from two. Keep it in one of them, or make them equal; of a `line` or `block` and the `content` of its file, put the one into the other.",
  },
  MODULE_MISSING: {
    meaning: "A module requires another that the agent does not get.",
    cause:
      "A module says `requires: [...]`, and no assignment that matches the agent brings one of these; see [modules](modules.md#order).",
    advice: "`details` names both. Assign the missing module to the agent, or name it in the call.",
  },
  PARAMS_INVALID: {
    meaning: "The params of an assignment do not fit its modules.",
    cause:
      "A module was uploaded since then that declares other params, or a param has neither a default nor a value.",
    advice:
      "The message names the assignment or the module, and the param. Change the assignment, give the param in the call, or give it a default.",
  },
  TEMPLATE_FAILED: {
    meaning: "A template can't be evaluated for this agent.",
    cause:
      "A template names an attribute or a tag that this agent does not have, gives a value that its property can't have, or costs too much.",
    advice:
      "`errors` has the line and column of each, as in the module that was uploaded. Set the tag, write `| default: ...`, or put a `when` on the resource.",
  },
  EMPTY_DESIRED_STATE: {
    meaning: "Nothing is desired any more, but something is applied.",
    cause:
      "No assignment matches the agent now, so an apply would remove all that was applied before. This is refused in case a tag was lost by mistake.",
    advice: "Look at the plan. If the removal is meant, repeat the call with `allow_empty`.",
  },
  TOO_MANY_REMOVALS: {
    meaning: "The apply would remove more than it may.",
    cause:
      "The call, or the strategy of the rollout, says `max_removals`, and the machine has more that is not desired any more. Nothing was changed. As the code of a resource: nobody could foresee that it would be removed, and it was left as it is.",
    advice:
      "The message names them, and a plan shows each. Repeat the call with a higher `max_removals`, or without it, if they are meant.",
  },
  PLAN_STALE: {
    meaning: "The plan no longer describes what an apply would do.",
    cause:
      "Modules, params, tags or attributes that were used, or the machine itself changed since the plan was made, perhaps because it was applied. `details.reason` is `desired` where the orchestrator saw it, and `machine` where the agent did; nothing was changed. As the code of a resource: what came before it made it differ though the plan said that it stays; it was left as it is.",
    advice: "Plan again, look at it, and apply the new plan.",
  },
  AGENT_NOT_APPROVED: {
    meaning: "The agent is pending or rejected.",
    cause: "An agent gets no work before an operator has approved it.",
    advice: "Compare its key with the one on the machine and approve it.",
  },
  AGENT_UNSUPPORTED: {
    meaning: "A module does not support this agent.",
    cause:
      "The module says with `supports` for which agents it is made, and this agent matches none of those selectors. It was refused before anything ran.",
    advice: "Narrow the assignment's selector, or widen `supports` of the module if it really works there.",
  },
  AGENT_OFFLINE: {
    meaning: "The agent is not connected.",
    cause: "The machine is off, the agent is not running, or the network between is broken.",
    advice: "Try again later, or queue the operation where the call can do that (`when_offline: queue`).",
  },
  AGENT_TIMEOUT: {
    meaning: "The agent is connected and did not answer in time.",
    cause: "The machine is very busy or is just losing its connection.",
    advice: "Read the operation before trying again: the agent may have taken the command all the same.",
  },
  AGENT_ALREADY_CONNECTED: {
    meaning: "An agent with this key is connected already.",
    cause:
      "A machine that was cloned together with the agent's key: the other connection was asked just now, and lives.",
    advice:
      "Find the clone and give it a key of its own: `remote_address` and `connected_address` of the event `agent.refused` say where both are.",
  },
  PROTOCOL_ERROR: {
    meaning: "The peer broke the agent protocol.",
    cause:
      "A fault or a hostile program on the other side, or something between that alters the traffic. The connection was ended.",
    advice:
      "Look at the versions of both sides and at the audit log. A client that says so was sent a text to sign that is not for this server and this key: find out who answers at that address.",
  },
  VERSION_UNSUPPORTED: {
    meaning: "No protocol version is spoken by both sides.",
    cause: "One of them is too old for the other.",
    advice: "Update the older side.",
  },
  ORCHESTRATOR_KEY_CHANGED: {
    meaning:
      "The orchestrator's key is not the one that the agent or the client has pinned, or that a backup is expected to have.",
    cause:
      "The orchestrator was set up anew without its old key, or a stranger answers in its place. The agent refuses to go on; the client signs nothing. Of a backup: it is another orchestrator's, or somebody made it up.",
    advice:
      "Find out which. If the new orchestrator is yours, pin its key: on the agent, or with `fleetwright login --orchestrator-key`. A backup is taken with `--orchestrator-key`, the key that its orchestrator printed at its start.",
  },
  ORCHESTRATOR_SUPERSEDED: {
    meaning: "The agent follows a newer server that was restored from a backup of this one.",
    cause:
      "Two servers have one key, since one was restored from a backup of the other. Each restore begins a new epoch, and an agent obeys the newest that it has seen.",
    advice:
      "Stop the older server. If it is the one that is to go on, make a backup of it, restore that into a new folder and start there: agents follow the newest restore.",
  },
  MAINTENANCE_WINDOW: {
    meaning: "A maintenance window with the mode `freeze` keeps changes away from the agents.",
    cause:
      "An apply of one agent was asked for while a freeze is active there, or one of many agents all of which are frozen; `details.window_id` names the window and `details.until` says when it ends. Of an operation: it waited for the end of a window until its own time to wait was over.",
    advice:
      "Ask again after the window, or end it with `fleetwright windows end`. An Admin may pass `override_window` (`--override-window`), which is recorded.",
  },
  SECRET_UNAVAILABLE: {
    meaning: "A secret that a module uses can't be used for this agent.",
    cause:
      "There is no secret of this name (any more), it is restricted to other agents, it has expired, or its value is no text and stands where only a text can. The message says which; `details.secret` names it.",
    advice:
      "Create the secret, change its restriction or set a new value with `fleetwright secrets set`, or take the module from the agent. Of a drift check: apply anew.",
  },
  SECRETS_KEY_MISSING: {
    meaning: "The orchestrator has no key to encrypt secrets with.",
    cause: "A program that embeds the orchestrator gave no `secretsKey`.",
    advice:
      "Pass the option `secretsKey`: 32 bytes, or where they come from. `fleetwright serve` makes a key by itself.",
  },
  SECRETS_KEY_WRONG: {
    meaning: "The key for secrets is not the one that the stored ones are encrypted with, or there is none.",
    cause:
      "The key file of another data folder, another value of `FLEETWRIGHT_SECRETS_KEY`, or a restored backup without its key: backups hold secrets encrypted, and never the key.",
    advice:
      "Put the key back: `secrets.key` of the old data folder, or the old value before it was changed. The orchestrator does not start without it, so that no second key comes into being. To change keys, use `fleetwright secrets rotate-key`.",
  },
  INSECURE_CONNECTION: {
    meaning: "A secret is not taken over plain HTTP from another machine.",
    cause:
      "Whoever stands between could read it. The value that was sent has been on that way: take another one.",
    advice:
      "Use HTTPS. Behind a proxy that ends TLS, name it in `trustedProxies` and have it send `X-Forwarded-Proto: https`.",
  },
  TERMINALS_REFUSED: {
    meaning: "The agent allows no terminals.",
    cause: "Whoever runs the machine started its agent so, and no role on the orchestrator changes that.",
    advice: "Ask them to start the agent without `--no-terminals`, or reach the machine in another way.",
  },
  COMMANDS_REFUSED: {
    meaning: "The agent runs no commands.",
    cause: "Whoever runs the machine started its agent so, and no role on the orchestrator changes that.",
    advice: "Ask them to start the agent without `--no-commands`, or apply a module in place of the command.",
  },
  TERMINALS_UNAVAILABLE: {
    meaning: "The agent can't open terminals.",
    cause:
      "The optional package `@lydell/node-pty` is not installed on that machine or not made for it, or the user of its terminals is not there.",
    advice:
      "Install the agent with its optional packages; read the message. Everything else of the agent works.",
  },
  TICKET_INVALID: {
    meaning: "The ticket of a terminal is unknown, expired or used.",
    cause:
      "A ticket works once, within 30 seconds, for the terminal for which it was made, and as long as the session of its operator lasts.",
    advice: "Ask for another one: `POST /api/v1/terminal/session/{session_id}/ticket`.",
  },
  TOO_MANY_TERMINALS: {
    meaning: "Too many terminals are open.",
    cause: "There are as many as `terminalSessions` allows, or 100 on the one agent.",
    advice: "Close some: `fleetwright terminal list --status active` tells whose they are.",
  },
  COMMAND_UNSUPPORTED: {
    meaning: "The agent can't do this.",
    cause: "It is an older version, or its machine lacks the ability.",
    advice: "Update the agent, or leave this out there.",
  },
  COMMAND_EXPIRED: {
    meaning: "The command came after its time.",
    cause:
      "Each command says until when it may begin. It was held up, or it was lost and the agent, asked about it later, knows nothing of it. Nothing was run.",
    advice: "Repeat the call.",
  },
  RESULT_GONE: {
    meaning: "The operation has ended on the machine, and nobody has its result any more.",
    cause:
      "The agent was told that its result is on disk and forgot it; the orchestrator was restored from a backup that does not have it.",
    advice: "Plan, to see how the machine is now.",
  },
  PEER_ERROR: {
    meaning: "The peer reported an error that this version does not know.",
    cause: "The other side is newer. `details` has the code and the message as they came.",
    advice: "Look the code up in the other side's version; update this side.",
  },
} as const satisfies Record<string, ErrorExplanation>;
