export declare const rooms: readonly string[];
export declare const imports: ReadonlyMap<string, { path: string; isLoaded: boolean }[]>;
export declare function roomOf(file: string): number;
export declare function picture(): string;
export declare function pictureOfPage(): string | undefined;
