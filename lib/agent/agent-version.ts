/** Version of the agent, as the orchestrator shows it: the package's own. */
export const agentVersion = "0.1.0";
