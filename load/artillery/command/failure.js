/** Why the command cannot do its work. The message is for the user, with what to do about it. */
export class Failure extends Error {}
