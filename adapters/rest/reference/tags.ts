/** What each group of operations is about. */
export const tagReference: Readonly<Record<string, string>> = {
  Status: "Is the service well, and what does it speak?",
  Access: "Signing in with an Ed25519 key, sessions, and operators with their roles.",
  Agents: "The machines of the fleet: approval, attributes and tags.",
  Metrics: "What machines measure: load, memory, disks, network, and what their owners add.",
  Modules: "What machines should be like: resources in YAML, in revisions.",
  Assignments: "Which modules are for which agents, and carrying that out on all of them.",
  Rollouts: "Assignments carried out on their agents, in batches: how they stand, and stopping them.",
  Runs: "Commands on many agents at once, and what came of them.",
  State: "Plan and apply of one agent, the operations that come of it, and drift.",
  Events: "What happens, as it happens.",
  Secret: "Values that modules use and nobody reads back.",
  Terminal: "Shells on machines, each of them recorded.",
  Backup: "Everything in one file.",
  Audit: "Who did what, chained by hashes.",
};
