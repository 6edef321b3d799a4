console.log(import.meta.env.MODE);
