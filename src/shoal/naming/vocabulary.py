"""What names of columns say, in English, German, French, Spanish, Italian, Dutch, Portuguese.

Words are listed as they are abbreviated in surveys and registers; `shoal.naming.words`
says how they are looked up.
"""

from __future__ import annotations

from collections.abc import Mapping

from shoal.naming.words import Lexicon

__all__ = [
    "IDENTIFIES", "KNOWN_TO_OTHERS", "OCCUPATION", "SENSITIVE", "TECHNICAL", "WEIGHTS",
]  # fmt: skip


def _lexicons(topics: Mapping[str, str]) -> dict[str, Lexicon]:
    return {topic: Lexicon.of(words) for topic, words in topics.items()}


WEIGHTS = Lexicon.of(
    "*wgt *wght *wgtp pond* pweight dweight sampleweight surveyweight wgt* wght* wtint* hhwt "
    "perwt *cwt *pwt *wt hochrech* hochr* extri fexp facexp factorexp* factorel* gewichtung* "
    "gewfakt* wegingsf* pesofit pesocamp* pesofinal pesoamos* expans*"
)
"""Survey weights are how many others a record stands for, not what a person weighs."""

TECHNICAL = Lexicon.of(
    "version ver release form formtype tform mode source src batch file filename import export "
    "wave welle vague ola onda ronde round quarter trim* quartal* interview* iw intvw enquet* "
    "quest* qst* proxy sample sampl* imput* rectype satz* recordtype rt adj* unit units einheit "
    "unite format seq sequence order ordre line lineno rank rang* rango created updated modified "
    "inserted loaded checksum software template dispcode mod modus modo modalit* plan schema "
    "dataset"
)
"""About the record and how it came to be, not about the person."""

OCCUPATION = Lexicon.of(
    "occupation occ occp occup* profession profes* beruf berufs* *beruf beroep* ocupac* ocupacao "
    "metier isco* profissao professione soc csp pcs"
)

IDENTIFIES = Lexicon.of(
    # names
    "surname forename firstname lastname fullname givenname familyname middlename maidenname "
    "nickname username login fname lname nachname vorname familienname geburtsname zuname "
    "rufname *nachname *vorname nom noms prenom prenoms patronyme nomfamille nombre nombres "
    "apellido apellidos primerapellido cognome nome nomecompleto nomealuno nomepaciente sobrenome "
    "apelido achternaam voornaam voornamen familienaam naam roepnaam tussenvoegsel initials "
    # reaching people
    "email emailaddress emailadresse mail courriel correo correoelectronico mel phone telephone "
    "tel telnr telno telefon* telefoon* telefono telefone mobile mobil mobiltelefon movil "
    "cellulare celular telemovel portable handy handynr cell cellphone gsm fax whatsapp "
    "street streetaddress address addr adr adresse anschrift strasse *strasse hausnummer rue voie "
    "direccion domicilio calle indirizzo via adres straat huisnummer endereco rua morada "
    "logradouro "
    "homeaddress url website ip ipaddr ipaddress ipadresse macaddress mac imei imsi deviceid "
    # papers and numbers
    "ssn socialsecurity* sozialvers* svnr svnummer rentenvers* rvnr versichertennr versicherten* "
    "versnr krankenversnr kvnr steuerid steuernr steuernummer idnr taxid tin nino nhsnumber nhsno "
    "passport passnr reisepass personalausweis ausweisnr passeport pasaporte passaporto "
    "passaporte paspoort nir numsecu secu numerosecu* dni nif nie nuss curp rfc rut cuil cedula "
    "codfiscale codicefiscale cf partitaiva bsn sofinummer rijksregisternummer cpf rg cnh nis pis "
    "cns sus nationalid natid pesel personnummer creditcard cardnumber cardno ccnum kreditkarte "
    "bankaccount iban bic kontonr kontonummer acctno accountno konto ccc contacorrente "
    "rekeningnummer mrn medicalrecord* krankenakte licenseplate numberplate plate plates "
    "kennzeichen kfz kfzkennzeichen immatriculation targa kenteken placa vin driverlicense "
    "driverslicense "
    "fuehrerschein photo foto signature unterschrift badge "
    # free text
    "comment comments remark remarks note notes freetext verbatim narrative bemerkung bemerkungen "
    "anmerkung kommentar commentaire commentaires remarque remarques observaciones observacoes "
    "comentario comentarios osservazioni commento commenti opmerking opmerkingen toelichting "
)

KNOWN_TO_OTHERS: Mapping[str, Lexicon] = _lexicons(
    {
        "age or birth": "age ages agep agey ageyrs agegr* agegrp agecat ageband ageyears "
        "ageinyears birth* born dob dateofbirth yob mob brth* bday bdate brthdt alter "
        "altersgruppe altersklasse lebensalter geburt* gebdat* gebjahr gebdatum gebj gebtag geb "
        "jahrgang naiss* naissance annais ddn agerev trancheage anneenaissance edad edades "
        "nacimiento nacim fecnac fechanac* fnac anonac eta etaanni nascita datanascita "
        "annonascita dtnascita leeftijd leeft* geboorte* gebjaar idade nascimento nasc dtnasc "
        "datanasc anonasc faixaetaria ridage*",
        "sex": "sex gender sexe sexo sesso sx geschl* geslacht gesl genre genero genere gend "
        "gndr riagendr male female sexe* sexo*",
        "origin": "race races ethn* ridreth* rac cit migback foreign* auslaender* etrang* "
        "extranj* stranier* nationality national* nation citizen* citiz origin origine country "
        "cntry ctry native nativ* ancestry language lang birthplace pobp immig* migrant* migra* "
        "hispanic hisp herkunft* herkomst* staatsang* staatsbuerg* nationalitaet muttersprache "
        "natio* sprache land geburtsland gebland pays paysnaiss langue nacionalid* pais paisnac "
        "idioma lengua etnia raza raca racacor cor naziona* cittadinanza paese lingua "
        "nationaliteit taal moedertaal nacionalidade naturalidade migrationshintergrund bpl pob "
        "birthpl* geburtsort lieunais* luogonasc* lugarnac* vetnat etnic* nac naz herk* arrival "
        "yrimm* cob",
        "place": "zip zipcode zcta postal postalcode postcode postc pcode plz postleitzahl cp "
        "codepostal codigopostal codpostal cap cep codpos pc city town village municip* commune "
        "comune community county state province provinc* prov region regio* district distr "
        "canton department departement departamento dept dep puma tract neighbourhood "
        "neighborhood borough suburb place location residence resid* geo area areacode urban "
        "rural urbrur urbanicity metro msa fips nuts lau lsoa msoa wohnort ort ortsteil stadt "
        "gemeinde gemeind* kreis landkreis bundesland bezirk kanton wohnsitz regierungsbezirk "
        "ville arrondissement arrond quartier insee codinsee ciudad poblacion localidad barrio "
        "comunidad ccaa distrito citta quartiere stad woonplaats wijk buurt gemeente cidade "
        "bairro estado uf concelho freguesia latitude longitude lat lon lng long latit* longit* "
        "latlong gps coord* xcoord ycoord geox geoy breitengrad laengengrad latitud longitud "
        "latitudine longitudine lengtegraad breedtegraad gor bula zeat st ward stratum psu "
        "cluster reg dpt com comm cntry cnty beat precinct zone zona quart* nbhd wijk* buurt* "
        "nuts* strate strato habitat landkr* kreis*",
        "family": "marit* marst marstat marr mar married marriage relationship reltn relat* "
        "family famsize famil* household hhsize hhtype hhsz householdsize nkids kids children "
        "child nchild marts* marsts martl dmdmartl mstat hhmmb nbpers npers hhmem* typmen "
        "dependents dependants siblings spouse partner parents famst* familienst* familienstand "
        "fstand famstand zivilstand ehe* kinder kinderzahl anzkinder haushalt* hhgr hhgroesse "
        "situfam situationfam* sitfam matrim* etatciv* statutmatri* enfants nbenf nbenfants "
        "menage foyer estciv* estadociv* ecivil hijos nhijos numhijos hogar statociv* statciv* "
        "figli nfigli nucleo burgst* burgerl* burgelijkestaat gezin* kinderen huishouden filhos "
        "huishoud* tamanohogar personalstatus persstatus nfilhos agregado conjuge parent parent* "
        "kinship kinderz* enf enfant* fils hijo* figl* kind *kind nkind relp rel relship civil* "
        "staciv cohab* konkub* concub* widow* divor* pareja conviv*",
        "education": "education educ* isced* eisced dmdeduc* dipdet* edu edlevel edlev edattain "
        "school schooling schl degree college university grade diploma* qualif* highqual attain* "
        "bildung* schulabschluss abschluss schulbildung ausbildung* studium studienfach schule "
        "etudes nivetud* niveauetud* formation bac ecole lycee estudios nivestud* nivelestud* "
        "escolar* escola escuela titulacion istruz* anosestud* estudo* titolodistudio "
        "titolostudio titstudio scuola laurea opleid* onderwijs* school* instrucao grauinstr* "
        "ensino curso turma serie major dip diplo* studio studi* niv nivel* oplniv* opl titulo* "
        "titol* klasse* scolar* alfab* litera*",
        "work": "work workclass wrkcls job jobtitle jobcat employer employ* empl empstat emp "
        "unempl* industry indus* ind naics nace sector company veteran military mili* mil "
        "position worksite arbeit* arbeitgeber erwerb* branche wirtschaftszweig abteilung abt "
        "beschaeft* "
        "stelle taetigkeit stellung dienstgrad firma betrieb eintritt* eintrittsdatum travail "
        "emploi activite statutemploi secteur entreprise poste service trabajo empleo situlab* "
        "laboral situapr sitpro* sitlab* actividad empresa puesto lavoro impiego settore azienda "
        "condlav* werk* werkgever functie bedrijf afdeling trabalho emprego setor cargo "
        "situacaoemprego hiredate hired seniority department vet cow naf sic isic cnae ateco sbi "
        "secm statut* contrat* contrato* situ* qualp* ofic* chom* arbeits* werkl* desemp* "
        "disoccup* empleo* emprego*",
        "body": "height weight eye eyes hair handed* groesse koerpergroesse gewicht "
        "koerpergewicht augenfarbe haarfarbe taille poids altura estatura talla pesokg altezza "
        "lengte hair* weightkg heightcm groess* hoogte statura peso htin wtkg",
        "a stay": "admission admit* admdate adm discharge disch* hospital hosp clinic ward "
        "specialty speciality physician doctor payer insurer insurance visit* stay los aufnahme* "
        "entlass* krankenhaus klinik station* arzt krankenkasse kasse versicherung hopital "
        "sejour entree sortie medecin mutuelle ingreso ingresodt alta hospit* medico aseguradora "
        "ricovero dimissione ospedale reparto opname* ontslag* ziekenhuis arts verzekeraar "
        "internacao enrol* facility provider",
        "possessions": "vehicle car cars homeowner housing house tenure* rent renter dwelling "
        "ownhome resstatus residentstatus auto fahrzeug* pkw wohn* miete mieter eigentum* "
        "wohnung logement voiture vehicule autobez* proprietaire locataire vivienda coche "
        "vehiculo alquiler casa abitazione affitto veicolo woning huur eigenwoning moradia "
        "veiculo aluguel imovel owner* ownersh* make",
    }
)

SENSITIVE: Mapping[str, Lexicon] = _lexicons(
    {
        "health": "disease* illness* diagn* diag dx icd icdcode drg ccam condition* comorb* hiv "
        "vih aids sida cancer krebs kanker tumor* tumour* diabet* stroke asthma asma hepatitis "
        "covid* infection* infekt* symptom* sintoma* treatment* treatm medicat* medikat* "
        "medicament* medicijn* medicacion med meds drug drugs therap* terap* prescr* surgery "
        "procedure* lab labs serum glucose cholest* blood bloodpressure bmi imc test result "
        "results health hlth genhlth mental depress* anxiety phq gad disab* invalid* handicap* "
        "behind* schwerbehind* pflegegrad pregn* schwanger* zwanger* grossesse embaraz* gravid* "
        "abort* smok* raucher* rauchen roker* rook* fume* fuma* tabac* tabag* alcoh* alkohol* "
        "genot* genet* gene readmi* mortal* death* died deceased surviv* outcome vaccin* impf* "
        "vacun* krank* erkrank* gesund* befund* behandlung* operation* allerg* maladie* "
        "patholog* patolog* sante ald acte traitement* diagnost* enferm* salud tratam* discapac* "
        "malatt* salute cura disabil* esenzione ziekte* aandoen* gezond* behandel* handicap "
        "beperking zorgkosten doenca* saude deficien* aeterm aedecod interven* dis sen fsm* send "
        "senstatus adverse* aellt mhterm cmtrt hypert* htn cardi* coronar* infarct* infarkt* "
        "heart* angina arthri* artros* copd epoc bpco obes* dement* alzh* parkinson* schizo* "
        "psych* psiq* psic* suicid* addict* sucht* droge* drogue* cannab* opioid* hemoglob* "
        "haemoglob* creatin* sodium potass* bilirub* platelet* wbc rbc hba ldl hdl triglyc* "
        "systol* diastol* sbp dbp pulse heartrate hr spo sofa apache saps gcs ventil* beatm* atc "
        "ops ghm ghs cie cid cim dgn proc procs hcpcs cpt morbid* histo* topogr* surg* chirurg* "
        "cirug* cirurg* radiat* radioth* chemo* quimio* chimio* blind* deaf* hearing vision "
        "contracep* anticonc* kontrazep* verhuet* fertil* steril* cigar* tobac* tabak* sigar* "
        "drink* drunk* binge* trink* injur* verletz* bless* violen* gewalt* geweld* maltrat* "
        "abuse* expire* deced* deces* decess* obito* morte mort muert* fallec* tod todes* "
        "verstorb* sterb* overled* overlij* biops* relaps* recidiv* progno* severit* sever "
        "schwere* sick* malad* cancr* cancer* krebs* hernia* fractur* epilep* tuberc* malaria* "
        "anaem* anem* angst* angoiss* ansia deprim* health*",
        "money": "income* incom hinc* decile decuc saving* epargne* ahorro* risparm* ersparn* "
        "inc hhinc hincp faminc hhincome inctot pincp wagp salar* wage* earn* pay paygrade "
        "payment* bonus debt* credit* balance wealth* asset* capital loan* mortgage* default* "
        "charge charges cost costs tax taxes pension benefit* bankrupt* networth poverty povstat "
        "welfare snap einkom* *einkommen gehalt* *gehalt lohn* *lohn brutto* netto* verdienst "
        "*verdienst schulden* vermoegen* kredit* rente* bezuege sozialhilfe hartz revenu* revtot "
        "revdisp* salaire* remun* dette* patrimoine pret bours* rsa aides allocat* impot* "
        "ingreso ingresos renta* sueldo* deuda* prestamo* hipoteca* patrimonio salario* reddit* "
        "stipend* debit* mutuo* prestito isee inkomen* loon salaris* schuld* hypotheek* "
        "uitkering* vermogen* renda* rendimento* divida* emprest* beneficio* bolsa* indhhin* "
        "indfm* amount* amt betrag* *betrag montant* mnt importe* importo* bedrag* valor* val "
        "price* preis* *preis prix precio* prezz* prijs* preco* cost* cout* coste* kosten* "
        "*kosten custo* spese* spesa gasto* depens* ausgab* uitgav* despes* fee fees reimb* "
        "rembours* erstatt* reembols* rimbors* vergoed* pmt pymt pymnt paid payout ink pov "
        "povert* foodst* chomage* arbeitslosengeld subsid* subvenc* sussid* bijstand* fico "
        "delinq* dti arrear* rueckst* moros* impay* lien liens sal charg* waarde verdien* "
        "entgelt* bezahl* pag pago* paga pagam* pouvoir fortun* turnover umsatz* zins* interest* "
        "steuer* imp belast* impost* tasse tasas consum* sparen spaar* poupan*",
        "belief": "relig* rlg* prtvt* faith denom* church politic* polit* party vote* voting "
        "union unionmemb* orient* sexualor* sexualit* opinion* konfession* glaube* kirche* "
        "partei* wahl* gewerksch* croyanc* culte* parti syndic* sindic* voto* afilia* partido* "
        "credo* fede partito* sindacat* geloof* godsdienst* kerk* stemg* partij* vakbond* crenc* "
        "voted ideolog* lrscale leftright rile trust* vertrau* confian* fiduci* attitud* satisf* "
        "zufried* *zufriedenheit tevred* soddisf* happy happi* glueck* bonheur felic* einstell* "
        "moral* abortion gay homosex* euthan* church* prayer pray",
        "law": "crime* prior* exclusion* suspens* crimin* offen* arrest* convict* sentence* "
        "recid* prison* jail* faulty guilty accident* violat* fraud* straf* vorstraf* delikt* "
        "unfall* delit* condamn* infrac* delito* condena* anteced* reato* condann* delict* "
        "misdrijf* crim* condenac* charge* felony misdemean* probation parole suspect* verdacht* "
        "verdaecht* sospech* sospett* soupc* suspeit* citation* contraband* frisk* force search* "
        "victim* opfer* slachtoff* fine fines gevang* gefaeng* detenu* preso* custod* police "
        "assault* theft* robber* drunkdr* dui dwi misconduct dismiss* kuendig* licenc* despid* "
        "ontslagen",
        "performance": "score* rating* performance gpa iq mark marks grades bewertung* leistung* "
        "zensur* moyenne* noteexam calific* beoordel* cijfer* nota notas exam exams examen* "
        "achiev* apprais* evaluat* punkte* punteggio* puntaj* puntua* pontua* voti resultat*",
    }
)
