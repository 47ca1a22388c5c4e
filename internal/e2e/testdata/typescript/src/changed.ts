export const changed: number = 0;
