/** The verbs of the client, but for streams and signing in. Written from the router by a test: `npm run generate`. */
import type { CallOptions } from "./http.ts";
import type { Input, Output } from "./inputs.ts";

/** Verbs by feature, each of which is one request. */
// prettier-ignore
export interface RoutedVerbs {
  status: {
    /**
     * Get protocol version and health. Whether the service works and which versions of the agent protocol it speaks. Needs no
     * session; who is signed in also sees each check.
     */
    get: (options?: CallOptions) => Promise<Output<"statusSchema">>;
  };
  summary: {
    /**
     * Get the fleet in one look. How many agents there are and how they fare, what is under way, and what needs somebody, worst
     * first.
     */
    get: (options?: CallOptions) => Promise<Output<"summarySchema">>;
  };
  auth: {
    /** Tell who the caller is. The operator behind the token, and when the session ends in any case. */
    session: (options?: CallOptions) => Promise<Output<"sessionInfoSchema">>;
  };
  operators: {
    /** List operators. Everybody who may sign in, in the order of their usernames. */
    list: (input?: Input<"listOperatorsInput">, options?: CallOptions) => Promise<Output<"operatorPageSchema">>;
    /** Add an operator. Registers the public key of somebody who may sign in from now on. The private key never leaves them. */
    add: (input: Input<"addOperatorInput">, options?: CallOptions) => Promise<Output<"operatorSchema">>;
    /** Get one operator. One operator by id. */
    get: (operatorId: string, options?: CallOptions) => Promise<Output<"operatorSchema">>;
    /** Remove an operator. Ends the operator's sessions and streams at once. The last Admin can't be removed. */
    remove: (operatorId: string, options?: CallOptions) => Promise<null>;
    /**
     * Change an operator's role. Ends the operator's sessions, so that the new role holds at once; where the role stays, so do
     * they. The last Admin stays one.
     */
    setRole: (operatorId: string, input: Input<"setRoleInput", "operator_id">, options?: CallOptions) => Promise<Output<"operatorSchema">>;
  };
  agents: {
    /**
     * List agents. Agents that pass every filter. `connected` says whether an agent is connected at this moment; attributes come
     * with the single agent only.
     */
    list: (input?: Input<"listAgentsInput">, options?: CallOptions) => Promise<Output<"agentPageSchema">>;
    /** Get one agent. One agent by id, with the attributes of its machine. */
    get: (nodeId: string, options?: CallOptions) => Promise<Output<"agentSchema">>;
    /**
     * Approve or reject an agent. Approve an agent before anything can be done with it. Rejecting one that is connected ends its
     * connection. Both ways are open later; the same status again is refused. With `expected_status` nobody is decided about whom
     * somebody else decided about meanwhile.
     */
    setStatus: (nodeId: string, input: Input<"setStatusInput", "node_id">, options?: CallOptions) => Promise<Output<"agentSchema">>;
    /**
     * Remove a rejected agent's record. Only a rejected agent can be removed. Its tags, its state and its history go with it; the
     * same key coming back is pending, with nothing inherited.
     */
    remove: (nodeId: string, options?: CallOptions) => Promise<null>;
    /**
     * Approve or reject many agents. Up to 1000 agents, by id or by selector, each decided about by itself: one that fails keeps
     * none of the others, and the answer says what happened to each. Whom somebody else has decided about is left out. A selector
     * approves only agents that wait, rejects none that are rejected, and is refused where it matches none of them.
     */
    setStatuses: (input: Input<"setStatusesInput">, options?: CallOptions) => Promise<Output<"agentOutcomesSchema">>;
    /**
     * Rename an agent. An agent that has a name gets another one. Selectors go by it at once; a name that another agent has is
     * refused, and that agent is told.
     */
    rename: (nodeId: string, input: Input<"renameAgentInput", "node_id">, options?: CallOptions) => Promise<Output<"agentSchema">>;
    /**
     * Rename many agents. Up to 1000 agents get the names that are given, or, by id or by selector, names made of their hostnames
     * or of an attribute. The answer says what happened to each; of a name that is taken it tells both agents.
     */
    setNames: (input?: Input<"setNamesInput">, options?: CallOptions) => Promise<Output<"agentOutcomesSchema">>;
    /**
     * Have an agent take the place of another. For a machine that was installed anew, and so has another key: the agent `by` gets
     * the name and the tags of this one and the modules that calls named for it, and is approved; this one is rejected for good,
     * all in one step. History, and what names a `node_id`, stay with it.
     */
    replace: (nodeId: string, input: Input<"replaceAgentInput", "node_id">, options?: CallOptions) => Promise<Output<"agentSchema">>;
    /**
     * Reject agents that wait to be approved. Whoever can reach the server can make up agents: this rejects the first 1000 that
     * pass every filter and ends their connections. Without a filter it is all that wait.
     */
    rejectPending: (input?: Input<"rejectPendingInput">, options?: CallOptions) => Promise<Output<"rejectedAgentsSchema">>;
    /**
     * Have an agent tell of its machine now. Answers with what it tells, once it is written. By itself an agent tells of its
     * machine when it connects, after an apply that changed something, and, within a minute, when the machine's owner changes what
     * is in `attributes.d`.
     */
    refreshAttributes: (nodeId: string, input?: Input<"refreshAttributesInput", "node_id">, options?: CallOptions) => Promise<Output<"agentAttributesSchema">>;
    /**
     * Get the attributes of an agent. What the agent tells of its machine: flat keys with dots, such as `os.family`. Selectors can
     * use them.
     */
    attributes: (nodeId: string, options?: CallOptions) => Promise<Output<"agentAttributesSchema">>;
  };
  enrolmentTokens: {
    /** List all enrolment tokens. Newest first; none says what the token is. They are remembered for 30 days after they expire. */
    list: (input?: Input<"listEnrolmentTokensInput">, options?: CallOptions) => Promise<Output<"enrolmentTokenPageSchema">>;
    /** Get one enrolment token. How often it was used, and whether it still counts; never the token itself. */
    get: (id: string, options?: CallOptions) => Promise<Output<"enrolmentTokenSchema">>;
    /**
     * Create an enrolment token. An agent that comes with it is approved and tagged by that, `uses` agents at most. The token is in
     * this answer and nowhere else; a repetition with the same `Idempotency-Key` is refused (`IDEMPOTENCY_ANSWER_UNKNOWN`).
     */
    create: (input?: Input<"createEnrolmentTokenInput">, options?: CallOptions) => Promise<Output<"createdEnrolmentTokenSchema">>;
    /** Revoke an enrolment token. From now on it approves nobody. The agents that it has approved stay so. */
    revoke: (id: string, options?: CallOptions) => Promise<null>;
  };
  tags: {
    /** List all distinct tag keys and values. Every key and value in use, with the number of agents that have it. */
    list: (options?: CallOptions) => Promise<Output<"tagListSchema">>;
    /** Replace all tags of an agent. The agent has exactly these tags afterwards. At most 64. */
    replace: (nodeId: string, input: Input<"replaceTagsInput", "node_id">, options?: CallOptions) => Promise<Output<"agentTagsSchema">>;
    /** Set one tag of an agent. Adds the tag or changes its value; the other tags stay. */
    set: (nodeId: string, input: Input<"setTagInput", "node_id">, options?: CallOptions) => Promise<Output<"agentTagsSchema">>;
    /** Remove one tag of an agent. The other tags stay. A tag that is not there is `NOT_FOUND`. */
    remove: (nodeId: string, input: Input<"removeTagInput", "node_id">, options?: CallOptions) => Promise<null>;
    /**
     * Change tags of many agents. Sets and takes away tags of up to 1000 agents, by id or by selector; other tags stay. All those
     * of one agent are changed in one step, one that fails keeps none of the others, and the answer says what happened to each.
     */
    change: (input?: Input<"changeTagsInput">, options?: CallOptions) => Promise<Output<"agentOutcomesSchema">>;
  };
  modules: {
    /** List modules. Modules by name, each in its newest revision, without the content. */
    list: (input?: Input<"listModulesInput">, options?: CallOptions) => Promise<Output<"modulePageSchema">>;
    /**
     * Upload a module. A new name makes revision 1, a known one the next revision, and content that is there already changes
     * nothing: 200 with the present revision. `If-Match: "0"` uploads only a module that is not there yet. Every fault of the YAML
     * is told with line and column, and nothing is stored then.
     */
    upload: (input: Input<"uploadModuleInput">, options?: CallOptions) => Promise<Output<"uploadedModuleSchema">>;
    /** Get a module's details and content. With the YAML as it was uploaded. `revision` reads an older one. */
    get: (name: string, input?: Input<"getModuleInput", "name">, options?: CallOptions) => Promise<Output<"moduleDetailSchema">>;
    /**
     * Delete a module. Only a module that nothing uses: no assignment, no rollout, and no module that requires it.
     * `details.used_by` names those that do.
     */
    remove: (name: string, options?: CallOptions) => Promise<null>;
  };
  assignments: {
    /** List assignments. Assignments by name, each with how many approved agents it matches now. */
    list: (input?: Input<"listAssignmentsInput">, options?: CallOptions) => Promise<Output<"assignmentPageSchema">>;
    /**
     * Create an assignment. Binds modules to a selector. Nothing changes on any machine before it is applied. `*` means every agent
     * and must be written.
     */
    create: (input: Input<"createAssignmentInput">, options?: CallOptions) => Promise<Output<"assignmentSchema">>;
    /** Get one assignment. With the agents that the selector matches now. */
    get: (name: string, options?: CallOptions) => Promise<Output<"assignmentDetailSchema">>;
    /** Change an assignment. What is absent stays as it is. Machines change at the next apply. */
    update: (name: string, input?: Input<"updateAssignmentInput", "name">, options?: CallOptions) => Promise<Output<"assignmentSchema">>;
    /** Delete an assignment. What it brought to machines is no longer desired: the next apply there removes it. */
    remove: (name: string, options?: CallOptions) => Promise<null>;
    /**
     * Apply to every agent that the selector matches now. A rollout with one operation for each agent that matches at the time of
     * the call, in batches where the assignment says so. With `plan_rollout_id` exactly what that plan said, on its agents alone.
     * Answers with 200 when all have ended within `wait_seconds`, else with 202.
     */
    apply: (name: string, input?: Input<"rolloutApplyInput", "name">, options?: CallOptions) => Promise<Output<"rolloutDetailSchema">>;
    /**
     * Plan against every agent that the selector matches now. As apply, but nothing is changed: each operation tells what would
     * change. Answers with 200 when all have ended within `wait_seconds`, else with 202.
     */
    plan: (name: string, input?: Input<"rolloutPlanInput", "name">, options?: CallOptions) => Promise<Output<"rolloutDetailSchema">>;
  };
  rollouts: {
    /** List rollouts, most recent first. Assignments carried out, or being carried out, on the agents they matched. */
    list: (input?: Input<"listRolloutsInput">, options?: CallOptions) => Promise<Output<"rolloutPageSchema">>;
    /**
     * Get one rollout with its agents. With its first 1,000 agents in the order in which they are begun; `truncated` says whether
     * there are more. With `wait_seconds` once it has ended, or after that time.
     */
    get: (rolloutId: string, input?: Input<"getRolloutInput", "rollout_id">, options?: CallOptions) => Promise<Output<"rolloutDetailSchema">>;
    /**
     * List the agents of a rollout. Its agents in the order in which they are begun, with what came of each. A filtered page may be
     * short.
     */
    agents: (rolloutId: string, input?: Input<"listMembersInput", "rollout_id">, options?: CallOptions) => Promise<Output<"rolloutMemberPageSchema">>;
    /**
     * List what a rollout changed, in groups of agents. Agents whose operations ended alike stand together, smallest group first,
     * and what was, would be or could not be changed is told once for all of them. What is hidden counts as equal. A page may be
     * short. A command has no groups here.
     */
    changes: (rolloutId: string, input?: Input<"listGroupsInput", "rollout_id">, options?: CallOptions) => Promise<Output<"rolloutGroupPageSchema">>;
    /** Begin no further agent for now. What runs on a machine goes on there; no further agent is begun before it is resumed. */
    pause: (rolloutId: string, input?: Input<"changeRolloutInput", "rollout_id">, options?: CallOptions) => Promise<Output<"rolloutDetailSchema">>;
    /** Go on with a paused rollout. Goes on where it was paused. */
    resume: (rolloutId: string, input?: Input<"changeRolloutInput", "rollout_id">, options?: CallOptions) => Promise<Output<"rolloutDetailSchema">>;
    /**
     * End a rollout; what runs on a machine is finished there. No further agent is begun, and operations in progress go on to their
     * end. `POST /state/runs/{rollout_id}/cancel` ends a command also where it runs.
     */
    cancel: (rolloutId: string, input?: Input<"changeRolloutInput", "rollout_id">, options?: CallOptions) => Promise<Output<"rolloutDetailSchema">>;
  };
  runs: {
    /**
     * Run a command on many agents. Runs a command or a script once on each agent that a selector matches, or that `node_ids`
     * names. Nothing of it is kept as applied. Answers with 200 when it has ended on all within `wait_seconds`, else with 202.
     */
    start: (input?: Input<"startRunInput">, options?: CallOptions) => Promise<Output<"runDetailSchema">>;
    /**
     * Get one run and what came of it. How far it is, and the agents on which it has ended: those together on which it ended in the
     * same way and printed the same. `GET /rollouts/{rollout_id}/agents` lists each.
     */
    get: (rolloutId: string, options?: CallOptions) => Promise<Output<"runDetailSchema">>;
    /**
     * End a run, also where its command runs. No further agent begins. Where the command runs it is ended: with SIGTERM, and with
     * SIGKILL five seconds later.
     */
    cancel: (rolloutId: string, options?: CallOptions) => Promise<Output<"runDetailSchema">>;
  };
  state: {
    /**
     * Apply modules to the agent. Brings the machine to its desired state: all that assignments say and calls named before or, with
     * `modules` and `remove_modules`, these alone; what others brought stays as it is. One apply runs on an agent at a time; a
     * second waits. Answers with 200 when it has ended within `wait_seconds`, else with 202.
     */
    apply: (nodeId: string, input?: Input<"applyInput", "node_id">, options?: CallOptions) => Promise<Output<"operationSchema">>;
    /**
     * Plan a change of the agent. Tells what an apply would change, and changes nothing. Answers with 200 when it has ended within
     * `wait_seconds`, else with 202.
     */
    plan: (nodeId: string, input?: Input<"planInput", "node_id">, options?: CallOptions) => Promise<Output<"operationSchema">>;
    /**
     * Drop ownership of what was applied. Has the agent forget resources, and touches nothing on the machine: they stay as they are
     * and nothing takes them back any more. What is still desired becomes owned again with its next apply. Answers with 200 when it
     * has ended within `wait_seconds`, else with 202.
     */
    forget: (nodeId: string, input: Input<"forgetInput", "node_id">, options?: CallOptions) => Promise<Output<"operationSchema">>;
    /**
     * Get the believed state of the machine. What was applied last, what the next apply removes, what is desired but not applied
     * yet, and who brings each module: assignments, or a call that named it. Where nobody can work out what is desired, `error`
     * says why.
     */
    believed: (nodeId: string, options?: CallOptions) => Promise<Output<"believedStateSchema">>;
  };
  operations: {
    /** List operations, most recent first. Plans and applies of all agents that pass every filter. */
    list: (input?: Input<"listOperationsInput">, options?: CallOptions) => Promise<Output<"operationPageSchema">>;
    /** List operations of one agent, most recent first. Plans and applies of one agent that pass every filter. */
    listForAgent: (nodeId: string, input?: Input<"listAgentOperationsInput", "node_id">, options?: CallOptions) => Promise<Output<"operationPageSchema">>;
    /** Get one operation with the result of each resource. What happened, or would happen, to each resource. */
    get: (operationId: string, options?: CallOptions) => Promise<Output<"operationDetailSchema">>;
    /** Get what the scripts of an operation printed. What scripts wrote to stdout and stderr, with secrets made unreadable. */
    output: (nodeId: string, input: Input<"operationOfAgentInput", "node_id">, options?: CallOptions) => Promise<Output<"outputListSchema">>;
    /**
     * Stop an operation. A script that runs is ended (SIGTERM, after 5 s SIGKILL; its result says which). Any other change in
     * progress is finished, never cut. What comes after it is skipped.
     */
    cancel: (operationId: string, options?: CallOptions) => Promise<Output<"operationSchema">>;
  };
  drift: {
    /**
     * Compare the machine with its last successful apply. Compares the machine with the snapshot of its last successful apply, and
     * changes nothing. Answers with 200 when it has ended within `wait_seconds`, else with 202.
     */
    check: (nodeId: string, input?: Input<"checkDriftInput", "node_id">, options?: CallOptions) => Promise<Output<"driftDetailSchema">>;
    /**
     * List what the newest drift check of each agent found. By node_id. An agent that was not checked since everything was applied
     * on it is not in the list; nor is one that is not approved.
     */
    newest: (input?: Input<"newestDriftInput">, options?: CallOptions) => Promise<Output<"agentDriftPageSchema">>;
    /** List drift records of the agent. Checks of one agent, newest first. */
    list: (nodeId: string, input?: Input<"listDriftInput", "node_id">, options?: CallOptions) => Promise<Output<"driftPageSchema">>;
    /** Get the newest drift record. The newest check of one agent. `NOT_FOUND` where there was none. */
    latest: (nodeId: string, options?: CallOptions) => Promise<Output<"driftDetailSchema">>;
    /** Get one drift record. One check, with what differs of each resource. */
    get: (driftId: string, options?: CallOptions) => Promise<Output<"driftDetailSchema">>;
  };
  discovery: {
    /**
     * Call into the local network for agents. Sends one signed announcement into every network of the server, or to `target`, and
     * waits for answers. Agents that were started with `--discover` and have no orchestrator answer, connect, and then wait to be
     * approved. Once in 5 seconds.
     */
    broadcast: (input?: Input<"broadcastInput">, options?: CallOptions) => Promise<Output<"discoveredSchema">>;
  };
  metrics: {
    /**
     * Get what an agent measured over some time. Load, memory, disks, network and what the machine's owner adds, as points of equal
     * steps: the mean of each, with the least and the greatest where samples differ, and null where a gap begins. Samples are kept
     * for a day or more, then points of five minutes.
     */
    history: (nodeId: string, input?: Input<"metricHistoryInput", "node_id">, options?: CallOptions) => Promise<Output<"metricHistorySchema">>;
    /** Get what an agent measured last. The newest sample of an agent, with the value of each series. */
    latest: (nodeId: string, options?: CallOptions) => Promise<Output<"latestMetricsSchema">>;
    /**
     * Get the newest values of many agents for Prometheus. In its text format, metric by metric, each value with its time: of all
     * approved agents, or of those that a selector matches, whose newest sample is not older than five minutes or three intervals.
     * `cpu.percent{state=user}` is `fleetwright_cpu_percent{node_id="...",name="web-1",state="user"}`.
     */
    prometheus: (input?: Input<"metricPrometheusInput">, options?: CallOptions) => Promise<ReadableStream<Uint8Array>>;
  };
  thresholds: {
    /** List all thresholds. Newest first. */
    list: (input?: Input<"listThresholdsInput">, options?: CallOptions) => Promise<Output<"thresholdPageSchema">>;
    /** Get one threshold. As it stands. */
    get: (id: string, options?: CallOptions) => Promise<Output<"thresholdSchema">>;
    /**
     * Create a threshold. Each series of each agent that it is for is compared by itself: beyond the limit for `for_seconds` it
     * begins an alarm, back for `recovery_seconds` it ends it. There are 100 thresholds at most.
     */
    create: (input: Input<"createThresholdInput">, options?: CallOptions) => Promise<Output<"thresholdSchema">>;
    /**
     * Update a threshold. What is absent stays, and null takes away. Durations begin anew; alarms end where it watches something
     * else from now on, or is not enabled.
     */
    update: (id: string, input?: Input<"updateThresholdInput", "id">, options?: CallOptions) => Promise<Output<"thresholdSchema">>;
    /** Delete a threshold. Its alarms end. */
    remove: (id: string, options?: CallOptions) => Promise<null>;
    /**
     * List the alarms that there are now. Newest first. One that is over is gone; the events `metric.thresholdCrossed` and
     * `metric.thresholdRecovered` tell of it, and `metric.alarmsSettled` in sum where alarms begin and end all the time.
     */
    alarms: (input?: Input<"listAlarmsInput">, options?: CallOptions) => Promise<Output<"alarmPageSchema">>;
  };
  secrets: {
    /** List all secrets (metadata only). By name: what each is for, who may get it and what uses it. No value is ever told. */
    list: (input?: Input<"listSecretsInput">, options?: CallOptions) => Promise<Output<"secretPageSchema">>;
    /** Get one secret's metadata. Everything but its value. */
    get: (name: string, options?: CallOptions) => Promise<Output<"secretSchema">>;
    /**
     * Create a secret. It is encrypted before it is stored, and decrypted on the agents that need it alone. Over plain HTTP from
     * another machine it is refused, unless a trusted proxy says that it came over TLS.
     */
    create: (input: Input<"createSecretInput">, options?: CallOptions) => Promise<Output<"secretSchema">>;
    /**
     * Update a secret. What is absent stays. A new value is on machines after their next apply; `GET
     * /agents?secret_before=name@version` finds the agents that still have an older one. Over plain HTTP from another machine it is
     * refused, unless a trusted proxy says that it came over TLS.
     */
    update: (name: string, input?: Input<"updateSecretInput", "name">, options?: CallOptions) => Promise<Output<"secretSchema">>;
    /** Delete a secret. With all its values. Machines keep what was put there with it. */
    remove: (name: string, options?: CallOptions) => Promise<null>;
    /**
     * Encrypt all secrets with another key. Makes a key where the server keeps it itself, or takes the newest that it was given,
     * and encrypts every value anew. Called again after a break it goes on.
     */
    rotateKey: (options?: CallOptions) => Promise<Output<"rotatedKeySchema">>;
  };
  terminals: {
    /** List terminal sessions. Newest first: who was on which machine, when, and how it ended. */
    list: (input?: Input<"listTerminalsInput">, options?: CallOptions) => Promise<Output<"terminalPageSchema">>;
    /** Get session metadata. How a terminal stands, or how it ended and what is kept of it. */
    get: (sessionId: string, options?: CallOptions) => Promise<Output<"terminalSchema">>;
    /**
     * Open a terminal session on the agent. Everything that it shows is recorded. Connect to `websocket_url` with the subprotocol
     * `fleetwright.terminal.v1` and send the `ticket` in the first message.
     */
    open: (nodeId: string, input?: Input<"openTerminalInput", "node_id">, options?: CallOptions) => Promise<Output<"openedTerminalSchema">>;
    /**
     * Get a ticket to attach to a terminal session. For who opened it, to attach again, and for an Admin, to watch; also within a
     * minute after the session has ended by itself, for what was missed. It works once, within 30 seconds.
     */
    ticket: (sessionId: string, options?: CallOptions) => Promise<Output<"terminalTicketSchema">>;
    /**
     * Close a terminal session. Ends its program and all that it started. Somebody else's may be closed by an Admin. Nothing
     * happens where it has ended.
     */
    close: (sessionId: string, options?: CallOptions) => Promise<null>;
    /**
     * Download the transcript. An asciicast, version 2, for any player of these; with `format=text` plain text without a control
     * sequence, with `search` only its lines in which that stands. Also while the session is active. Somebody else's may be read by
     * an Admin. Each reading is in the audit log (`terminal.transcriptRead`) before the first byte of it is sent; where that can't
     * be written, nothing is.
     */
    transcript: (sessionId: string, input?: Input<"transcriptInput", "session_id">, options?: CallOptions) => Promise<ReadableStream<Uint8Array>>;
  };
  maintenanceWindows: {
    /** List all maintenance windows. Newest first, those that have ended too, each with when it goes on next. */
    list: (input?: Input<"listWindowsInput">, options?: CallOptions) => Promise<Output<"maintenanceWindowPageSchema">>;
    /** Get one window. With when it goes on next. */
    get: (id: string, options?: CallOptions) => Promise<Output<"maintenanceWindowSchema">>;
    /**
     * Create a maintenance window. Once, or again and again. With the mode `mute` notifications of its agents are silent; with
     * `freeze` nothing is applied or run there either: what somebody asks for is refused, what comes by itself is held until the
     * window ends.
     */
    create: (input: Input<"createWindowInput">, options?: CallOptions) => Promise<Output<"maintenanceWindowSchema">>;
    /**
     * Update a window. What is absent stays. An `ends_at` that has passed ends a window that is active; so does `end_occurrence`,
     * after which one with a schedule comes again. What it held goes on.
     */
    update: (id: string, input?: Input<"updateWindowInput", "id">, options?: CallOptions) => Promise<Output<"maintenanceWindowSchema">>;
    /** Delete a window. What it held goes on. */
    remove: (id: string, options?: CallOptions) => Promise<null>;
  };
  notifications: {
    /**
     * List notifications for the requesting operator. Newest first, each with whether and when the caller read it. Events that
     * happened together are one notification. What a maintenance window kept silent is listed, marked as muted.
     */
    list: (input?: Input<"listNotificationsInput">, options?: CallOptions) => Promise<Output<"notificationPageSchema">>;
    /** Mark all notifications as read for the requesting operator. Those that there are; for other operators nothing changes. */
    readAll: (options?: CallOptions) => Promise<null>;
    /** Get what the requesting operator has muted. Nothing, as long as they muted nothing. */
    preferences: (options?: CallOptions) => Promise<Output<"notificationPreferencesSchema">>;
    /**
     * Mute kinds of notifications for the requesting operator. They are listed as muted, and count as unread no more; for other
     * operators, and for channels, nothing changes. What is absent stays.
     */
    updatePreferences: (input?: Input<"updateNotificationPreferencesInput">, options?: CallOptions) => Promise<Output<"notificationPreferencesSchema">>;
    /** Mark one notification as read for the requesting operator. For other operators nothing changes. Again, it stays as it is. */
    read: (id: string, options?: CallOptions) => Promise<null>;
  };
  channels: {
    /** List notification channels. Newest first, each with how its last attempt ended. What is secret of them is not told. */
    list: (input?: Input<"listChannelsInput">, options?: CallOptions) => Promise<Output<"channelPageSchema">>;
    /** Get one channel. With how its last attempt ended. What is secret of it is not told. */
    get: (id: string, options?: CallOptions) => Promise<Output<"channelSchema">>;
    /**
     * Create a channel. It tells what happens from now on. Secret fields of its config are encrypted, or are `secret:NAME` and read
     * for each message. Over plain HTTP from another machine it is refused, unless a trusted proxy says that it came over TLS.
     */
    create: (input: Input<"createChannelInput">, options?: CallOptions) => Promise<Output<"channelSchema">>;
    /**
     * Update a channel. What is absent stays; a config is given as a whole, and a secret field of it that is `********` stays as it
     * is. Over plain HTTP from another machine it is refused, unless a trusted proxy says that it came over TLS.
     */
    update: (id: string, input?: Input<"updateChannelInput", "id">, options?: CallOptions) => Promise<Output<"channelSchema">>;
    /** Delete a channel. What waits to be delivered by it is dropped. */
    remove: (id: string, options?: CallOptions) => Promise<null>;
    /**
     * Send a test notification through the channel. At once, whether the channel is enabled or not. A message that was not
     * delivered is no error of the call: the answer says why.
     */
    test: (id: string, options?: CallOptions) => Promise<Output<"channelTestSchema">>;
    /**
     * List the messages of a channel. Newest first, with what came of each: those that wait, those that were delivered in the last
     * 7 days, and those that could not be.
     */
    deliveries: (id: string, input?: Input<"listDeliveriesInput", "id">, options?: CallOptions) => Promise<Output<"deliveryPageSchema">>;
    /** Send a message once more. One that could not be delivered, or that was; it is tried for another day. */
    redeliver: (id: string, input: Input<"redeliverInput", "id">, options?: CallOptions) => Promise<Output<"deliverySchema">>;
  };
  backups: {
    /**
     * Download everything as one file, the keys included. A file for `fleetwright restore`, taken without a pause. It holds the
     * orchestrator's private key: keep it as you keep that.
     */
    create: (options?: CallOptions) => Promise<ReadableStream<Uint8Array>>;
  };
  restores: {
    /**
     * Tell what waits after a restore. Whether the server waits after a restore for an operator's word, and what that would set
     * going: operations, rollouts and schedules.
     */
    get: (options?: CallOptions) => Promise<Output<"restoreStateSchema">>;
    /**
     * Go on after a restore. Lets a restored server go on: operations that waited may begin and rollouts go on. Due times that have
     * passed are not carried out; `missed` names them.
     */
    resume: (options?: CallOptions) => Promise<Output<"restoreStateSchema">>;
  };
  audit: {
    /**
     * Query the audit log, newest first. Who did what, to what, when and from where. Each event is chained by its hash to the one
     * before; with `order=asc` the chain can be checked page by page.
     */
    list: (input?: Input<"listAuditInput">, options?: CallOptions) => Promise<Output<"auditPageSchema">>;
    /**
     * Recompute the chain of hashes. Says whether an event was changed or taken out, and which is the first. With a head that was
     * kept elsewhere it says whether that is in this log: a whole new log has another.
     */
    verify: (input?: Input<"verifyAuditInput">, options?: CallOptions) => Promise<Output<"verifyAuditSchema">>;
    /**
     * Sign where the log ends. Sequence and hash of the newest event, signed by the orchestrator's key. Kept elsewhere, it shows
     * that the log has become another.
     */
    head: (options?: CallOptions) => Promise<Output<"auditHeadSchema">>;
    /**
     * Prune the events before a time. Removes the oldest events. What is left still verifies, and the pruning itself is in the log.
     * A time in the future is refused. `dry_run=true` tells what would go, and `expected` has it refused where that is another
     * number.
     */
    prune: (input: Input<"pruneAuditInput">, options?: CallOptions) => Promise<Output<"pruneResultSchema">>;
    /** Get for how long events are kept. How many days events are kept; null keeps them for ever. */
    getRetention: (options?: CallOptions) => Promise<Output<"retentionSchema">>;
    /** Set for how long events are kept. Events that are older are pruned by themselves. */
    setRetention: (input: Input<"setRetentionInput">, options?: CallOptions) => Promise<Output<"retentionSchema">>;
  };
}
