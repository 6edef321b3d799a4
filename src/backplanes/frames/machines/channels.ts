/** The channel on which all workers meet; those of the machines begin with the same name. */
export const framesChannel = (prefix: string): string => `${prefix}:frames`;
