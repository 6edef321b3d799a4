export const title = 'before the edit';
