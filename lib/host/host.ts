/**
 * PORT: what a resource may do to a machine. Everything that the state engine does goes through here.
 */
export {};
