from v1_writing import Programs

programs = Programs()
