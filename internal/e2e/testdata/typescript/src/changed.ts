(globalThis as { changed?: number }).changed = 0;
